"""What bench_twice.py starts in other processes: making the data, and the work that goes through the Python API."""
