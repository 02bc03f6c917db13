"""A process whose CPU time and memory count."""
import os
import shutil
import subprocess


def measure(command, folder, timeout):
    """(output, {cpu_s, user_s, rss_bytes}, why it failed or None). GNU time stands between, so that the memory of the script
    does not count as that of its child."""
    out, usage = folder / "out.txt", folder / "usage.txt"
    words = [shutil.which("time"), "-o", usage.resolve(), "-f", "%M", "timeout", str(timeout), *command]
    with out.open("w") as file:
        child = subprocess.Popen(words, cwd=folder, stdout=file, stderr=subprocess.STDOUT)
        _, status, used = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    text = out.read_text(errors="replace")
    if child.returncode != 0:
        why = f"no end after {timeout} s" if child.returncode == 124 else f"exit {child.returncode}: {text[-300:]}"
        return text, {}, why
    memory = int(usage.read_text().split()[-1]) * 1024
    return text, {"cpu_s": used.ru_utime + used.ru_stime, "user_s": used.ru_utime, "rss_bytes": memory}, None
