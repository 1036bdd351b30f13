"""Stands for `foldaway serve`: tells events, answers with its own name, and dies when asked to."""

import os
import socketserver
import sys
import threading
from http.server import BaseHTTPRequestHandler

HELD = threading.Event()


class Answers(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - its name there
        pass

    def do_GET(self) -> None:
        known = "refuse" not in sys.argv and self.headers["x-foldaway-token"] == "the token"
        self.send_response(200 if known else 403)
        self.end_headers()
        self.wfile.write(b": foldaway\n\n" if known else b"{}")
        self.wfile.write(b'data: {"kind":"request","wire":"chat","bytes_in":9,"bytes_out":4}\n\n')
        HELD.wait()

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"]))
        if b"die" in body:
            os._exit(1)
        self.send_response(200)
        self.send_header("content-length", "100" if b"cut" in body else str(len(body)))
        self.end_headers()
        self.wfile.write(body)
        if b"cut" in body:
            os._exit(1)


if "fail" in sys.argv:
    sys.exit("no store")
server = socketserver.ThreadingTCPServer(("127.0.0.1", int(sys.argv[1])), Answers)
server.daemon_threads = True
threading.Thread(target=server.serve_forever, daemon=True).start()
sys.stderr.write(f"foldaway: listening at http://127.0.0.1:{server.server_address[1]}\n")
sys.stderr.flush()
sys.stdin.read()
