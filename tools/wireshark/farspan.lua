-- Wireshark and tshark: decodes farspan's header (crates/transport/src/wire/bytes.rs, version 1) in UDP.
--
--   tshark -X lua_script:tools/wireshark/farspan.lua -r RUN/trace/ports.pcapng
--
-- or copy it to the folder of personal Lua plugins (Help > About Wireshark > Folders).

local farspan = Proto("farspan", "farspan")

local PORT = 17923
local KINDS = {
  [0] = "data", [1] = "ACK", [2] = "NACK", [3] = "coded data", [4] = "block NACK", [5] = "ACK with a map", [6] = "pull",
  [7] = "CNP", [8] = "numbered data", [9] = "ACK of a proxy", [10] = "passed on", [11] = "gap NACK",
  [12] = "opening",
}
local LENGTHS = { [0] = 26, [1] = 24, [2] = 24, [3] = 34, [4] = 20, [5] = 32, [6] = 16, [7] = 12, [8] = 29, [9] = 28, [10] = 16, [11] = 16, [12] = 20 }

local f = {
  version = ProtoField.uint8("farspan.version", "Version", base.DEC, nil, 0xf0),
  kind = ProtoField.uint8("farspan.kind", "Kind", base.DEC, KINDS, 0x0f),
  ecn_ce = ProtoField.bool("farspan.ecn_ce", "Congestion mark echoed", 8, nil, 0x01),
  block_complete = ProtoField.bool("farspan.block_complete", "Block complete", 8, nil, 0x02),
  last_hop = ProtoField.bool("farspan.last_hop", "Trimmed at the last hop", 8, nil, 0x04),
  profile = ProtoField.uint8("farspan.profile", "Profile of the flow", base.DEC, nil, 0x7f),
  ask = ProtoField.bool("farspan.ask", "Asks for an ACK", 8, nil, 0x80),
  entropy = ProtoField.uint16("farspan.entropy", "Entropy"),
  flow = ProtoField.uint32("farspan.flow", "Flow"),
  sent_at = ProtoField.uint64("farspan.sent_at", "Send time (ps)"),
  seq = ProtoField.uint32("farspan.seq", "Packet"),
  packets = ProtoField.uint32("farspan.packets", "Packets of the message"),
  cumulative = ProtoField.uint32("farspan.cumulative", "Cumulative"),
  len = ProtoField.uint16("farspan.len", "Payload (B)"),
  data = ProtoField.uint8("farspan.block.data", "Data packets of a block"),
  parity = ProtoField.uint8("farspan.block.parity", "Parity packets of a block"),
  last_len = ProtoField.uint16("farspan.last_len", "Payload of the last piece (B)"),
  wait = ProtoField.uint32("farspan.block.wait", "Block wait (ns)"),
  first = ProtoField.uint32("farspan.first", "First packet of the bit map"),
  missing = ProtoField.uint32("farspan.missing", "Missing", base.HEX),
  map = ProtoField.uint64("farspan.map", "Arrived above cumulative", base.HEX),
  pulled = ProtoField.uint32("farspan.pulled", "Packets pulled so far"),
  lane = ProtoField.uint8("farspan.lane", "Lane"),
  number = ProtoField.uint16("farspan.number", "Number of the transmission, or of the first that is lost"),
  count = ProtoField.uint16("farspan.count", "Transmissions that are lost"),
  limit = ProtoField.uint32("farspan.limit", "Packets below this one may be sent"),
  trimmed = ProtoField.bool("farspan.trimmed", "Trimmed"),
}
farspan.fields = f

local short = ProtoExpert.new("farspan.short", "Shorter than a header", expert.group.MALFORMED, expert.severity.ERROR)
farspan.experts = { short }

local function data_fields(buffer, tree, kind)
  tree:add(f.ask, buffer(1, 1))
  tree:add(f.profile, buffer(1, 1))
  tree:add(f.entropy, buffer(2, 2))
  tree:add(f.flow, buffer(4, 4))
  tree:add(f.sent_at, buffer(8, 8))
  tree:add(f.seq, buffer(16, 4))
  tree:add(f.packets, buffer(20, 4))
  tree:add(f.len, buffer(24, 2))
  if kind == 3 then
    tree:add(f.data, buffer(26, 1))
    tree:add(f.parity, buffer(27, 1))
    tree:add(f.last_len, buffer(28, 2))
    tree:add(f.wait, buffer(30, 4))
  end
  if kind == 8 then
    tree:add(f.lane, buffer(26, 1))
    tree:add(f.number, buffer(27, 2))
  end
  -- The payload that the header speaks of may have been cut off on the way.
  local trimmed = buffer:reported_len() < LENGTHS[kind] + buffer(24, 2):uint()
  tree:add(f.trimmed, trimmed):set_generated()
  if kind == 8 and buffer(24, 2):uint() == 0 then
    return string.format("flow %d mark of lane %d before number %d", buffer(4, 4):uint(), buffer(26, 1):uint(), buffer(27, 2):uint())
  end
  local text = string.format("flow %d packet %d len %d", buffer(4, 4):uint(), buffer(16, 4):uint(), buffer(24, 2):uint())
  return trimmed and text .. " trimmed" or text
end

local function ack_fields(buffer, tree, kind)
  if kind == 1 or kind == 5 or kind == 9 then tree:add(f.ecn_ce, buffer(1, 1)) end
  if kind == 1 or kind == 5 then tree:add(f.block_complete, buffer(1, 1)) end
  if kind == 2 then
    tree:add(f.last_hop, buffer(1, 1))
  end
  tree:add(f.entropy, buffer(2, 2))
  tree:add(f.flow, buffer(4, 4))
  tree:add(f.sent_at, buffer(8, 8))
  tree:add(f.seq, buffer(16, 4))
  tree:add(f.cumulative, buffer(20, 4))
  if kind == 5 then tree:add(f.map, buffer(24, 8)) end
  if kind == 9 then tree:add(f.limit, buffer(24, 4)) end
  return string.format("flow %d packet %d cumulative %d", buffer(4, 4):uint(), buffer(16, 4):uint(), buffer(20, 4):uint())
end

local function block_nack_fields(buffer, tree)
  tree:add(f.flow, buffer(4, 4))
  tree:add(f.cumulative, buffer(8, 4))
  tree:add(f.first, buffer(12, 4))
  tree:add(f.missing, buffer(16, 4))
  return string.format("flow %d missing 0x%08x from %d", buffer(4, 4):uint(), buffer(16, 4):uint(), buffer(12, 4):uint())
end

local function pull_fields(buffer, tree)
  tree:add(f.flow, buffer(4, 4))
  tree:add(f.cumulative, buffer(8, 4))
  tree:add(f.pulled, buffer(12, 4))
  return string.format("flow %d count %d", buffer(4, 4):uint(), buffer(12, 4):uint())
end

local function cnp_fields(buffer, tree)
  tree:add(f.flow, buffer(4, 4))
  tree:add(f.cumulative, buffer(8, 4))
  return string.format("flow %d", buffer(4, 4):uint())
end

local function open_fields(buffer, tree)
  tree:add(f.profile, buffer(1, 1))
  tree:add(f.entropy, buffer(2, 2))
  tree:add(f.flow, buffer(4, 4))
  tree:add(f.sent_at, buffer(8, 8))
  tree:add(f.packets, buffer(16, 4))
  return string.format("flow %d of %d packets", buffer(4, 4):uint(), buffer(16, 4):uint())
end

local function passed_on_fields(buffer, tree)
  tree:add(f.flow, buffer(4, 4))
  tree:add(f.cumulative, buffer(8, 4))
  tree:add(f.limit, buffer(12, 4))
  return string.format("flow %d cumulative %d", buffer(4, 4):uint(), buffer(8, 4):uint())
end

local function gap_fields(buffer, tree)
  tree:add(f.flow, buffer(4, 4))
  tree:add(f.lane, buffer(8, 1))
  tree:add(f.number, buffer(10, 2))
  tree:add(f.count, buffer(12, 2))
  if buffer(12, 2):uint() == 0 then
    return string.format("flow %d confirms mark of lane %d before number %d", buffer(4, 4):uint(), buffer(8, 1):uint(), buffer(10, 2):uint())
  end
  return string.format("flow %d lane %d from %d count %d", buffer(4, 4):uint(), buffer(8, 1):uint(), buffer(10, 2):uint(), buffer(12, 2):uint())
end

function farspan.dissector(buffer, pinfo, root)
  if buffer:len() < 1 then return 0 end
  local kind = buffer(0, 1):uint() % 16
  local length = LENGTHS[kind]
  if math.floor(buffer(0, 1):uint() / 16) ~= 1 or not length then return 0 end
  pinfo.cols.protocol = "farspan"
  local tree = root:add(farspan, buffer(0, math.min(length, buffer:len())))
  if buffer:len() < length then
    tree:add_proto_expert_info(short)
    return buffer:len()
  end
  tree:add(f.version, buffer(0, 1))
  tree:add(f.kind, buffer(0, 1))
  local text
  if kind == 0 or kind == 3 or kind == 8 then
    text = data_fields(buffer, tree, kind)
  elseif kind == 4 then
    text = block_nack_fields(buffer, tree)
  elseif kind == 6 then
    text = pull_fields(buffer, tree)
  elseif kind == 7 then
    text = cnp_fields(buffer, tree)
  elseif kind == 10 then
    text = passed_on_fields(buffer, tree)
  elseif kind == 11 then
    text = gap_fields(buffer, tree)
  elseif kind == 12 then
    text = open_fields(buffer, tree)
  else
    text = ack_fields(buffer, tree, kind)
  end
  tree:append_text(", " .. KINDS[kind] .. ", " .. text)
  pinfo.cols.info = KINDS[kind] .. " " .. text
  return buffer:len()
end

DissectorTable.get("udp.port"):add(PORT, farspan)
