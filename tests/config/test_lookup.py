"""Names in configurations mean classes that are imported when the first name is looked up."""

from __future__ import annotations

import subprocess
import sys

LOOK_UP = """
import threading
from leafspan import Strategy

barrier, failures = threading.Barrier(8), []

def look_up():
    barrier.wait()
    try:
        assert type(Strategy.from_config("auto-merging")).__name__ == "AutoMerging"
    except BaseException as error:
        failures.append(error)

threads = [threading.Thread(target=look_up) for _ in range(8)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(failures)
"""


def test_threads_that_look_up_the_first_names_do_not_disturb_each_other():
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", LOOK_UP], check=True, capture_output=True, text=True)
    assert done.stdout == "[]\n"
