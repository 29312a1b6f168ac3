"""A webhook receiver that records each delivery with its webhook-id. It rejects some deliveries, so that they are resent."""
import http.server
import json
import threading


class Receiver:
    """Listens on a free loopback port. `path`: file for deliveries, with one JSON object per line; may be changed while the receiver runs."""

    def __init__(self, random, refused_share=0.03):
        receiver = self
        self.path = None
        self._lock = threading.Lock()
        self._random = random
        self._refused_share = refused_share

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                body = self.rfile.read(int(self.headers.get("Content-Length", "0")))
                self.send_response(receiver.take(self.headers.get("webhook-id"), body))
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_):
                pass

        class Server(http.server.ThreadingHTTPServer):
            daemon_threads = True
            request_queue_size = 128

            def handle_error(self, *_):
                pass  # the sender may have been killed

        self.server = Server(("127.0.0.1", 0), Handler)
        self.url = "http://127.0.0.1:%d/" % self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def take(self, identifier, body):
        with self._lock:
            if self._random.random() < self._refused_share:
                return 500
            try:
                event = json.loads(body)
            except ValueError:
                event = None
            with open(self.path, "a") as out:
                out.write(json.dumps({"id": identifier, "event": event}) + "\n")
            return 204

    def ids(self):
        try:
            with open(self.path) as lines:
                return {json.loads(line)["id"] for line in lines}
        except FileNotFoundError:
            return set()

    def close(self):
        self.server.shutdown()
        self.server.server_close()
