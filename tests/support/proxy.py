"""A TCP proxy on loopback that delays what passes, apart for each direction. Runs in a thread of its own."""
import asyncio
import random
import threading


class DelayProxy:
    """delays: (low, high) seconds from agent to coordinator and back; each chunk is held for a random time in between, in order."""

    def __init__(self, target, up=(0.0, 0.0), down=(0.0, 0.0), seed=1):
        host, port = target.rsplit(":", 1)
        self.target = (host, int(port))
        self.up, self.down = up, down
        self.random = random.Random(seed)
        self.loop = asyncio.new_event_loop()
        self.ready = threading.Event()
        self.thread = threading.Thread(target=self.main, daemon=True)

    def main(self):
        asyncio.set_event_loop(self.loop)
        self.server = self.loop.run_until_complete(asyncio.start_server(self.serve, "127.0.0.1", 0))
        self.address = "127.0.0.1:%d" % self.server.sockets[0].getsockname()[1]
        self.ready.set()
        self.loop.run_forever()

    async def serve(self, reader, writer):
        try:
            far_reader, far_writer = await asyncio.open_connection(*self.target)
        except OSError:
            writer.close()
            return
        await asyncio.gather(self.pass_on(reader, far_writer, self.up), self.pass_on(far_reader, writer, self.down))

    async def pass_on(self, reader, writer, delay):
        queue = asyncio.Queue()

        async def send():
            while True:
                due, data = await queue.get()
                await asyncio.sleep(max(0.0, due - self.loop.time()))
                if data is None:
                    break
                writer.write(data)
            writer.close()

        sender = asyncio.ensure_future(send())
        last = 0.0
        try:
            while True:
                data = await reader.read(65536)
                last = max(last, self.loop.time() + self.random.uniform(*delay))
                queue.put_nowait((last, data or None))
                if not data:
                    break
        except OSError:
            queue.put_nowait((last, None))
        await sender

    def __enter__(self):
        self.thread.start()
        self.ready.wait()
        return self

    def __exit__(self, kind, value, trace):
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join(5)
