"""A TCP proxy on loopback that delays what passes, apart for each direction, or ends connections. Runs in a thread of its own."""
import asyncio
import random
import socket
import struct
import threading


class DelayProxy:
    """
    up, down: (low, high) seconds from agent to coordinator and back; each chunk is held for a random time in between, in order. Both can
    be set anew at any time. pick(direction, data): the delay of one chunk in seconds, or None for the usual one.
    """

    def __init__(self, target, up=(0.0, 0.0), down=(0.0, 0.0), seed=1, pick=None):
        host, port = target.rsplit(":", 1)
        self.target = (host, int(port))
        self.up, self.down, self.pick = up, down, pick
        self.writers = set()
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
        ends = {writer, far_writer}
        self.writers |= ends
        await asyncio.gather(self.pass_on(reader, far_writer, "up"), self.pass_on(far_reader, writer, "down"))
        self.writers -= ends

    def abort_all(self):
        """Both sides of each connection get a reset (RST), as from a firewall that forgot it. From pick only."""
        for writer in self.writers:
            writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            writer.transport.abort()

    def reset(self):
        """The same from any thread."""
        done = threading.Event()

        def abort():
            self.abort_all()
            done.set()
        self.loop.call_soon_threadsafe(abort)
        done.wait(5)

    def delay_of(self, direction, data):
        chosen = self.pick(direction, data) if self.pick and data else None
        return self.random.uniform(*getattr(self, direction)) if chosen is None else chosen

    async def pass_on(self, reader, writer, direction):
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
                last = max(last, self.loop.time() + self.delay_of(direction, data))
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
        async def end():
            self.server.close()
            others = asyncio.all_tasks() - {asyncio.current_task()}
            for task in others:
                task.cancel()
            await asyncio.gather(*others, return_exceptions=True)
            self.loop.stop()
        asyncio.run_coroutine_threadsafe(end(), self.loop)
        self.thread.join(5)
        if not self.thread.is_alive():
            self.loop.close()
