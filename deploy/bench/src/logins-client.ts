// Sign-ins of the logins bench: argv = gateway URL, e-mail, password, clients. From the first message to the second they sign in
// over and over; a refused one waits as long as it is told. Answers {answered, busy}.
import { once } from "node:events";

const [url = "", email = "", password = "", clients = ""] = process.argv.slice(2);
const body = JSON.stringify({ email, password });
const headers = { "content-type": "application/json" };

export type SignIns = { answered: number; busy: number };

const stopping = new AbortController();
const { signal } = stopping;
const done: SignIns = { answered: 0, busy: 0 };

async function client(): Promise<void> {
  while (!signal.aborted) {
    const sent = fetch(`${url}/api/v1/auth/login`, { method: "POST", headers, body, signal });
    const reply = await sent.catch((error: Error) => {
      if (signal.aborted) return null;
      throw error;
    });
    if (reply === null) return;
    await reply.arrayBuffer();
    if (reply.status === 200) done.answered += 1;
    else {
      done.busy += 1;
      await waited(Number(reply.headers.get("retry-after") ?? 1) * 1_000);
    }
  }
}

function waited(ms: number): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener("abort", () => {
      clearTimeout(timer);
      resolve();
    });
  });
}

process.send?.("ready");
await once(process, "message");
process.once("message", () => stopping.abort());
await Promise.all(Array.from({ length: Number(clients) }, client));
process.send?.(done, () => process.disconnect());
