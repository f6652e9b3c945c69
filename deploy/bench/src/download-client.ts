// Load side of the download bench: argv = port, path, clients. The message {rounds} has each client download the file
// `rounds` times; answers {bytes, refused, seconds}.
import { connect } from "node:net";

const [port = "", path = "", clients = ""] = process.argv.slice(2);
const request = `GET ${path} HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nConnection: close\r\n\r\n`;

/** Bytes of the body, -1 when it was refused. */
function download(): Promise<number> {
  return new Promise((resolve) => {
    let head = "";
    let bytes = 0;
    let isOk = true;
    const socket = connect({ host: "127.0.0.1", port: Number(port) }, () => socket.write(request));
    socket.on("data", (chunk: Buffer) => {
      if (head !== "") bytes += chunk.length;
      else {
        const end = chunk.indexOf("\r\n\r\n");
        head = chunk.toString("latin1", 0, end);
        isOk = head.startsWith("HTTP/1.1 200");
        bytes += chunk.length - end - 4;
      }
    });
    socket.on("error", () => undefined);
    socket.once("close", () => resolve(isOk ? bytes : -1));
  });
}

process.on("message", async ({ rounds }: { rounds: number }) => {
  const startedMs = performance.now();
  let bytes = 0;
  let refused = 0;
  const client = async () => {
    for (let n = 0; n < rounds; n++) {
      const got = await download();
      if (got < 0) refused++;
      else bytes += got;
    }
  };
  await Promise.all(Array.from({ length: Number(clients) }, client));
  process.send?.({ bytes, refused, seconds: (performance.now() - startedMs) / 1000 });
});
process.send?.("ready");
