//! Tests of Poisson arrivals.

use super::*;
use crate::WanLinks;
use crate::offered_load;
use proptest::prelude::*;

/// Racks of four hosts; links of 800 Gb/s from every site to every other.
fn capacity(sites: &Sites) -> Capacity {
    let n = sites.count();
    let pairs = (0..n).flat_map(|from| (0..n).map(move |to| (from, to))).filter(|(from, to)| from != to);
    let links = |(from, to)| {
        let mut shares = vec![0.0; n * n];
        shares[from * n + to] = 1.0;
        WanLinks { from, to, rate: Rate::from_gbps(800), shares }
    };
    Capacity {
        host: Rate::from_gbps(100),
        fabric: Some(Rate::from_gbps(1600)),
        wan: pairs.map(links).collect(),
        racks: (0..sites.hosts()).map(|host| host / 4).collect(),
        payload: Bytes::new(4096),
        header: Bytes::new(64),
    }
}

fn sites() -> Sites {
    Sites::new(vec![0..16, 16..32]).unwrap()
}

fn mixed(load: f64, reference: LoadReference, intra: f64, inter: f64, unit: MixUnit) -> Load {
    Load::Mixed { load, reference, mix: Mix { intra, inter, unit } }
}

fn config(load: Load, flows: u32) -> Poisson {
    Poisson {
        part: 0,
        receivers: Vec::new(),
        intra: SizeDistribution::built_in("alistorage").unwrap(),
        inter: SizeDistribution::built_in("websearch").unwrap(),
        load,
        load_unit: LoadUnit::Payload,
        arrivals: Arrivals::Flows(flows),
        start: Time::ZERO,
        warmup: Time::ZERO,
        tail: Duration::ZERO,
        start_granularity: Duration::ZERO,
    }
}

fn paper(flows: u32) -> Poisson {
    config(mixed(0.4, LoadReference::Host, 4.0, 1.0, MixUnit::Flows), flows)
}

fn draw(config: &Poisson, seed: u64) -> Vec<Flow> {
    poisson(config, &sites(), &capacity(&sites()), seed).unwrap()
}

#[test]
fn what_is_expected_is_about_what_is_drawn() {
    let near =
        |expected: f64, drawn: f64| assert!((0.9..1.1).contains(&(expected / drawn)), "{expected}, {drawn}");
    let period = Poisson { arrivals: Arrivals::For(Duration::from_ms(200)), ..paper(1) };
    for config in [paper(50_000), period] {
        let flows = draw(&config, 1);
        let expected = Expected::of(&config, &sites(), &capacity(&sites())).unwrap();
        near(expected.flows, flows.len() as f64);
        near(expected.bytes, flows.iter().map(|flow| flow.size.as_f64()).sum());
    }
}

#[test]
fn listed_receivers_share_the_load_and_no_one_else_gets_any() {
    let mut config = config(mixed(0.5, LoadReference::Receivers, 1.0, 0.0, MixUnit::Flows), 40_000);
    config.receivers = [19, 16, 17, 16].map(HostId).to_vec();
    config.intra = SizeDistribution::built_in("google-rpc").unwrap();
    let flows = draw(&config, 1);
    assert!(flows.iter().all(|f| is_intra(f) && f.src != f.dst));
    let senders: std::collections::BTreeSet<u32> = flows.iter().map(|f| f.src.0).collect();
    assert_eq!((senders.len(), senders.first(), senders.last()), (16, Some(&16), Some(&31)));
    let share = |to: u32| flows.iter().filter(|f| f.dst.0 == to).count() as f64 / flows.len() as f64;
    for to in [16, 17, 19] {
        assert!((share(to) - 1.0 / 3.0).abs() < 0.01, "{to} gets {}", share(to));
    }
    let span = flows.last().unwrap().start.since(flows[0].start).as_secs_f64();
    let offered = flows.iter().map(|f| f.size.as_f64()).sum::<f64>() / span;
    let load = offered / (3.0 * Rate::from_gbps(100).bytes_per_sec_f64());
    assert!((load / 0.5 - 1.0).abs() < three_sigma(&config.intra, 40_000.0), "{load}");
}

#[test]
fn receivers_that_nobody_reaches_are_refused() {
    let mut config = config(mixed(0.5, LoadReference::Receivers, 0.0, 1.0, MixUnit::Flows), 10);
    config.receivers = vec![HostId(32)];
    let error = |config: &Poisson| poisson(config, &sites(), &capacity(&sites()), 1).unwrap_err().to_string();
    assert!(error(&config).contains("numbered 0 to 31"));
    config.receivers = vec![HostId(20)];
    assert!(draw(&config, 1).iter().all(|f| f.src.0 < 16 && f.dst.0 == 20));
    let one = Sites::new(vec![0..2, 2..3]).unwrap();
    config.load = mixed(0.5, LoadReference::Receivers, 1.0, 0.0, MixUnit::Flows);
    config.receivers = vec![HostId(2)];
    assert!(poisson(&config, &one, &capacity(&one), 1).is_err());
}

fn is_intra(flow: &Flow) -> bool {
    let sites = sites();
    sites.site_of(flow.src) == sites.site_of(flow.dst)
}

/// Three standard deviations of the offered load of n flows, relative to it: sizes and arrival times both vary.
fn three_sigma(sizes: &SizeDistribution, n: f64) -> f64 {
    let relative = sizes.standard_deviation() / sizes.mean();
    3.0 * ((1.0 + relative * relative) / n).sqrt()
}

#[test]
fn flows_are_the_earliest_over_all_sources_in_order() {
    let (few, many) = (draw(&paper(500), 3), draw(&paper(2000), 3));
    assert_eq!((few.len(), many.len()), (500, 2000));
    assert!(many.is_sorted_by_key(|f| f.start));
    assert_eq!(few[..], many[..500]);
}

#[test]
fn a_source_s_flows_do_not_depend_on_other_sources() {
    let small = Sites::new(vec![0..16, 16..24]).unwrap();
    let mut config = paper(4000);
    // With equal mean sizes and a load on host NICs, a host's rate is the same beside any number of others.
    config.load = mixed(0.4, LoadReference::Host, 1.0, 0.0, MixUnit::Flows);
    let of_host_5 =
        |flows: Vec<Flow>| flows.into_iter().filter(|f| f.src.0 == 5).take(50).collect::<Vec<_>>();
    let (a, b) = (draw(&config, 3), poisson(&config, &small, &capacity(&small), 3).unwrap());
    assert_eq!(of_host_5(a.clone()).len(), 50);
    assert_eq!(of_host_5(a), of_host_5(b));
}

#[test]
fn seeds_and_parts_differ() {
    let mut other = paper(100);
    other.part = 1;
    let starts = |flows: Vec<Flow>| flows.into_iter().map(|f| f.start).collect::<Vec<_>>();
    assert_eq!(starts(draw(&paper(100), 1)), starts(draw(&paper(100), 1)));
    assert_ne!(starts(draw(&paper(100), 1)), starts(draw(&paper(100), 2)));
    assert_ne!(starts(draw(&paper(100), 1)), starts(draw(&other, 1)));
}

#[test]
fn gaps_are_exponential_with_the_rate_of_the_load() {
    let n = 100_000;
    let flows = draw(&paper(n), 8);
    let p = 0.8;
    let mean = p * SizeDistribution::built_in("alistorage").unwrap().mean()
        + (1.0 - p) * SizeDistribution::built_in("websearch").unwrap().mean();
    let rate = 32.0 * 0.4 * 100e9 / 8.0 / mean;
    let span = flows.last().unwrap().start.as_secs_f64();
    let n = f64::from(n);
    assert!((n / span / rate - 1.0).abs() < 3.0 / n.sqrt(), "{} for {rate}", n / span);
    // The merged stream is Poisson too: a share exp(-1) of its gaps is longer than the mean gap.
    let longer = flows.windows(2).filter(|w| w[1].start.since(w[0].start).as_secs_f64() > 1.0 / rate).count();
    let expected = (-1.0_f64).exp();
    let sigma = (expected * (1.0 - expected) / n).sqrt();
    assert!((longer as f64 / n - expected).abs() < 3.0 * sigma + 1e-3, "{longer}");
}

#[test]
fn a_mix_of_flows_is_a_ratio_of_numbers() {
    let n = 50_000;
    let intra = draw(&paper(n), 2).iter().filter(|f| is_intra(f)).count() as f64;
    let sigma = (f64::from(n) * 0.8 * 0.2).sqrt();
    assert!((intra - 0.8 * f64::from(n)).abs() < 3.0 * sigma, "{intra}");
}

#[test]
fn a_mix_of_bytes_is_a_ratio_of_payload() {
    let config = config(mixed(0.4, LoadReference::Host, 4.0, 1.0, MixUnit::Bytes), 400_000);
    let flows = draw(&config, 4);
    let bytes =
        |keep: bool| flows.iter().filter(|f| is_intra(f) == keep).map(|f| f.size.as_f64()).sum::<f64>();
    let (inter_flows, ratio) = (flows.iter().filter(|f| !is_intra(f)).count(), bytes(true) / bytes(false));
    let tolerance = three_sigma(&config.inter, inter_flows as f64)
        + three_sigma(&config.intra, (flows.len() - inter_flows) as f64);
    assert!((ratio / 4.0 - 1.0).abs() < tolerance, "{ratio} +- {tolerance}");
}

#[test]
fn the_load_on_each_reference_is_achieved_within_3_sigma() {
    for reference in [LoadReference::Host, LoadReference::Wan, LoadReference::Bisection] {
        let config = config(mixed(0.5, reference, 4.0, 1.0, MixUnit::Flows), 200_000);
        let flows = draw(&config, 6);
        let offered = offered_load(&flows, &sites(), &capacity(&sites()), |flow| flow.size);
        let inter = flows.iter().filter(|f| !is_intra(f)).count() as f64;
        let (loads, n) = match reference {
            LoadReference::Host => (vec![offered.host], inter),
            LoadReference::Bisection => (vec![offered.fabric], inter),
            LoadReference::Wan => (offered.wan.iter().map(|d| d.load).collect(), inter / 2.0),
            LoadReference::Receivers | LoadReference::Tightest => {
                unreachable!("these have tests of their own")
            }
        };
        let tolerance = three_sigma(&config.inter, n);
        for load in loads {
            let load = load.unwrap();
            assert!((load / 0.5 - 1.0).abs() < tolerance, "{reference:?}: {load} +- {tolerance}");
        }
    }
}

#[test]
fn a_load_of_the_tightest_is_that_of_the_tier_which_the_traffic_fills_first() {
    let offered = |sites: &Sites, config: &Poisson| {
        let mut capacity = capacity(sites);
        capacity.wan.iter_mut().for_each(|links| links.rate = Rate::from_gbps(200));
        let flows = poisson(config, sites, &capacity, 6).unwrap();
        offered_load(&flows, sites, &capacity, |flow| flow.size)
    };
    let tightest = |intra, inter| mixed(0.5, LoadReference::Tightest, intra, inter, MixUnit::Bytes);
    let is_half = |load: Option<f64>, config: &Poisson| {
        let tolerance = three_sigma(&config.inter, 20_000.0);
        assert!((load.unwrap() / 0.5 - 1.0).abs() < tolerance, "{load:?} +- {tolerance}");
    };
    // The hosts of a site send 1.6 Tb/s at most, four fifths of it over 200 Gb/s.
    let across = config(tightest(1.0, 4.0), 50_000);
    let load = offered(&sites(), &across);
    load.wan.iter().for_each(|way| is_half(way.load, &across));
    assert!(load.host.unwrap() < 0.1 && load.fabric.unwrap() < 0.2, "{load:?}");
    // Few bytes go between the sites: the fabric, with half of the hosts' capacity, is full first.
    let inside = config(tightest(99.0, 1.0), 200_000);
    let load = offered(&sites(), &inside);
    is_half(load.fabric, &inside);
    assert!(load.wan.iter().all(|way| way.load.unwrap() < 0.1), "{load:?}");
    // One rack without links to others: the hosts.
    let star = Sites::new(std::iter::once(0..4).collect()).unwrap();
    let alone = config(tightest(1.0, 0.0), 200_000);
    is_half(offered(&star, &alone).host, &alone);
}

#[test]
fn traffic_within_a_rack_does_not_count_to_the_load_on_the_bisection() {
    let config = config(mixed(0.5, LoadReference::Bisection, 1.0, 0.0, MixUnit::Flows), 200_000);
    let flows = draw(&config, 6);
    let fabric = offered_load(&flows, &sites(), &capacity(&sites()), |flow| flow.size).fabric.unwrap();
    // A partner is one of 15 hosts, 12 of them in other racks: counting all would give 0.4.
    assert!((fabric / 0.5 - 1.0).abs() < three_sigma(&config.intra, 0.8 * 200_000.0), "{fabric}");
}

#[test]
fn separate_loads_are_achieved_on_hosts_and_on_each_wan_direction() {
    let sites = Sites::new(vec![0..8, 8..32]).unwrap();
    let config = config(Load::Separate { intra: 0.3, inter: 0.6 }, 400_000);
    let flows = poisson(&config, &sites, &capacity(&sites), 7).unwrap();
    let home = |f: &Flow| sites.site_of(f.src) == sites.site_of(f.dst);
    let (intra, inter): (Vec<Flow>, Vec<Flow>) = flows.iter().partition(|f| home(f));
    let host = offered_load(&intra, &sites, &capacity(&sites), |flow| flow.size).host.unwrap();
    assert!((host / 0.3 - 1.0).abs() < three_sigma(&config.intra, intra.len() as f64), "{host}");
    for direction in offered_load(&inter, &sites, &capacity(&sites), |flow| flow.size).wan {
        let load = direction.load.unwrap();
        assert!((load / 0.6 - 1.0).abs() < three_sigma(&config.inter, inter.len() as f64 / 2.0), "{load}");
    }
}

#[test]
fn among_three_sites_the_busiest_direction_out_of_each_carries_the_load() {
    let sites = Sites::new(vec![0..4, 4..8, 8..20]).unwrap();
    let config = config(Load::Separate { intra: 0.0, inter: 0.6 }, 400_000);
    let offered = offered_load(
        &poisson(&config, &sites, &capacity(&sites), 7).unwrap(),
        &sites,
        &capacity(&sites),
        |flow| flow.size,
    );
    let load =
        |from, to| offered.wan.iter().find(|d| (d.from, d.to) == (from, to)).and_then(|d| d.load).unwrap();
    for (from, to, expected) in [(0, 2, 0.6), (1, 2, 0.6), (0, 1, 0.2), (2, 0, 0.6), (2, 1, 0.6)] {
        let tolerance = three_sigma(&config.inter, 40_000.0);
        assert!((load(from, to) / expected - 1.0).abs() < tolerance, "{from} to {to}: {}", load(from, to));
    }
}

#[test]
fn the_published_burst_lasts_less_than_one_round_trip_and_offers_the_wan_six_times_its_capacity() {
    // Uno, figure 10 at 40%: 5,000 flows start within 1.46 ms; the WAN is offered about 5.8 times its capacity.
    let sites = Sites::new(vec![0..128, 128..256]).unwrap();
    let flows = poisson(&paper(5000), &sites, &capacity(&sites), 1).unwrap();
    let span = flows.last().unwrap().start.as_secs_f64();
    assert!((span / 1.46e-3 - 1.0).abs() < 3.0 / 5000.0_f64.sqrt(), "{span}");
    let offered = offered_load(&flows, &sites, &capacity(&sites), |flow| flow.size);
    assert!(offered.transient());
    assert!(offered.wan.iter().all(|d| (4.5..7.2).contains(&d.load.unwrap())), "{:?}", offered.wan);
}

#[test]
fn a_load_on_the_wire_counts_headers() {
    let mut config = paper(1000);
    config.load = mixed(0.4, LoadReference::Host, 1.0, 0.0, MixUnit::Flows);
    config.intra = SizeDistribution::constant(Bytes::new(8192));
    let span = |config: &Poisson| draw(config, 1).last().unwrap().start.as_secs_f64();
    let payload = span(&config);
    config.load_unit = LoadUnit::Wire;
    assert!((span(&config) / payload - 8320.0 / 8192.0).abs() < 1e-6);
}

#[test]
fn destinations_are_uniform_over_the_chosen_site_and_never_the_source() {
    let mut config = paper(60_000);
    config.load = mixed(0.4, LoadReference::Host, 1.0, 1.0, MixUnit::Flows);
    let flows = draw(&config, 9);
    assert!(flows.iter().all(|f| f.src != f.dst));
    for intra in [true, false] {
        let from_3: Vec<u32> =
            flows.iter().filter(|f| f.src.0 == 3 && is_intra(f) == intra).map(|f| f.dst.0).collect();
        let choices: Vec<u32> =
            if intra { (0..16).filter(|h| *h != 3).collect() } else { (16..32).collect() };
        let expected = from_3.len() as f64 / choices.len() as f64;
        let chi2: f64 = choices
            .iter()
            .map(|h| from_3.iter().filter(|d| *d == h).count() as f64)
            .map(|count| (count - expected).powi(2) / expected)
            .sum();
        assert!(
            expected > 30.0 && chi2 < 37.7,
            "chi-squared {chi2} with 14 or 15 degrees of freedom: p < 0.1%"
        );
    }
}

#[test]
fn with_a_single_site_everything_is_intra() {
    let one = Sites::new(std::iter::once(0..16).collect()).unwrap();
    let flows = poisson(&paper(1000), &one, &capacity(&one), 1).unwrap();
    assert!(
        flows
            .iter()
            .all(|f| f.dst.0 < 16 && f.size <= SizeDistribution::built_in("alistorage").unwrap().largest())
    );
}

#[test]
fn warm_up_and_tail_surround_the_measured_flows() {
    let mut config = paper(1000);
    config.warmup = Time::ZERO + Duration::from_us(300);
    config.tail = Duration::from_us(200);
    let flows = draw(&config, 5);
    let measured: Vec<&Flow> = flows.iter().filter(|f| f.measured).collect();
    assert_eq!(measured.len(), 1000);
    let (first, last) = (measured[0].start, measured[999].start);
    assert!(first >= config.warmup && flows.iter().any(|f| f.start < config.warmup));
    assert!(flows.iter().filter(|f| (first..=last).contains(&f.start)).all(|f| f.measured));
    let end = flows.last().unwrap().start;
    assert!(end > last && end.since(last) < config.tail);
    config.warmup = Time::ZERO;
    config.tail = Duration::ZERO;
    assert_eq!(
        flows[..200].iter().map(|f| f.start).collect::<Vec<_>>(),
        draw(&config, 5)[..200].iter().map(|f| f.start).collect::<Vec<_>>()
    );
}

#[test]
fn a_duration_measures_all_that_starts_within_it() {
    let mut config = paper(1);
    config.arrivals = Arrivals::For(Duration::from_us(500));
    config.warmup = Time::ZERO + Duration::from_us(100);
    config.tail = Duration::from_us(50);
    let flows = draw(&config, 5);
    let window = config.warmup..config.warmup + Duration::from_us(500);
    assert!(flows.iter().all(|f| f.measured == window.contains(&f.start)));
    assert!(flows.iter().any(|f| f.start >= window.end) && flows.iter().any(|f| f.start < window.start));
    assert!(flows.iter().all(|f| f.start < window.end + Duration::from_us(50)));
}

#[test]
fn starts_are_cut_to_their_granularity_without_changing_order_or_count() {
    let mut config = paper(1000);
    let exact = draw(&config, 5);
    config.start_granularity = Duration::from_us(1);
    let coarse = draw(&config, 5);
    for (a, b) in exact.iter().zip(&coarse) {
        assert_eq!((a.src, a.dst, a.size), (b.src, b.dst, b.size));
        assert_eq!(b.start.as_ps(), a.start.as_ps() / 1_000_000 * 1_000_000);
    }
}

#[test]
fn bad_settings_say_what_is_wrong() {
    let host = |load| mixed(load, LoadReference::Host, 4.0, 1.0, MixUnit::Flows);
    let mix = |a, b| mixed(0.4, LoadReference::Host, a, b, MixUnit::Flows);
    let one = Sites::new(std::iter::once(0..16).collect()).unwrap();
    let lone = Sites::new(vec![0..16, 16..17]).unwrap();
    let wan = mixed(0.4, LoadReference::Wan, 4.0, 1.0, MixUnit::Flows);
    let cases = [
        (sites(), host(0.0), "load is 0; a load is a share of capacity above 0, such as 0.4"),
        (sites(), host(-1.0), "load is -1; a load"),
        (sites(), host(40.0), "load is 40; a load"),
        (sites(), host(f64::NAN), "load is NaN"),
        (sites(), mix(0.0, 0.0), "mix is 0 : 0; give two numbers"),
        (sites(), mix(-4.0, 1.0), "mix is -4 : 1"),
        (sites(), Load::Separate { intra: 0.0, inter: 0.0 }, "intra_load is 0"),
        (sites(), Load::Separate { intra: 0.4, inter: -0.1 }, "inter_load is -0.1"),
        (
            one.clone(),
            Load::Separate { intra: 0.4, inter: 0.1 },
            "inter_load refers to the WAN, which this topology",
        ),
        (one, wan, "load refers to the WAN"),
        (lone, host(0.4), "site 1 has a single host"),
        (sites(), mixed(0.4, LoadReference::Wan, 1.0, 0.0, MixUnit::Flows), "the mix has no inter flows"),
    ];
    for (sites, load, message) in cases {
        let error = poisson(&config(load, 10), &sites, &capacity(&sites), 1).unwrap_err().to_string();
        assert!(error.starts_with(message), "{error}");
    }
}

#[test]
fn no_flows_too_many_flows_and_too_late_flows_are_refused() {
    let with = |change: fn(&mut Poisson)| {
        let mut config = paper(10);
        change(&mut config);
        poisson(&config, &sites(), &capacity(&sites()), 1).unwrap_err().to_string()
    };
    assert!(with(|c| c.arrivals = Arrivals::Flows(0)).starts_with("flows is 0"));
    assert!(with(|c| c.arrivals = Arrivals::For(Duration::ZERO)).starts_with("duration is 0"));
    assert!(
        with(|c| c.arrivals = Arrivals::For(Duration::from_ms(10_000_000)))
            .contains("flow ids end at 4294967295")
    );
    let rare = mixed(1e-15, LoadReference::Host, 4.0, 1.0, MixUnit::Flows);
    let error = poisson(&config(rare, 10), &sites(), &capacity(&sites()), 1).unwrap_err();
    assert_eq!(error, PoissonError::TooLate);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]
    #[test]
    fn every_flow_is_possible_whatever_the_sites(
        a in 2_u32..10, b in 2_u32..10, load in 0.05..2.0_f64, seed in any::<u64>(), bytes in any::<bool>(),
    ) {
        let sites = Sites::new(vec![0..a, a..a + b]).unwrap();
        let unit = if bytes { MixUnit::Bytes } else { MixUnit::Flows };
        let config = config(mixed(load, LoadReference::Wan, 1.0, 2.0, unit), 200);
        let flows = poisson(&config, &sites, &capacity(&sites), seed).unwrap();
        prop_assert_eq!(flows.len(), 200);
        prop_assert!(flows.iter().all(|f| f.src != f.dst && f.src.0 < a + b && f.dst.0 < a + b && f.size.get() > 0));
    }
}
