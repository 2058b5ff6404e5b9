"""ClickHouse's HTTP interface on 127.0.0.1, as far as its npm client needs it, for the engine in chDB: PORT FOLDER."""
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

from chdb import session

PORT, FOLDER = int(sys.argv[1]), sys.argv[2]
engine = session.Session(FOLDER)
one_at_a_time = threading.Lock()


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        self.answer(200, b"Ok.\n")

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"])) if self.headers["Content-Length"] else self.chunks()
        options = parse_qs(urlsplit(self.path).query)
        sql = (options.get("query", [""])[0] + "\n" + body.decode()).strip()
        try:
            with one_at_a_time:
                engine.query("use " + options.get("database", ["default"])[0])
                result = engine.query(sql).bytes()
            self.answer(200, result)
        except Exception as error:
            self.answer(500, str(error).encode())

    def chunks(self):
        body = b""
        while size := int(self.rfile.readline(), 16):
            body += self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()
        return body

    def answer(self, status, body):
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


ThreadingHTTPServer(("127.0.0.1", PORT), Handler).serve_forever()
