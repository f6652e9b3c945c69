import { afterAll, beforeAll, expect, it, jest } from "@jest/globals";

const stored = new Map<string, string>();
const storage = {
  getItem: (name: string) => stored.get(name) ?? null,
  setItem: (name: string, value: string) => stored.set(name, value),
  removeItem: (name: string) => stored.delete(name),
};
class NoOtherTab {
  postMessage() {}
}
const json = (status: number, body: object) => new Response(JSON.stringify(body), { status });
const refused = () => json(401, { code: "session_revoked", error: "The session was revoked", requestId: "1" });

type Session = {
  accessToken(): Promise<string | null>;
  signedInAgain(): Promise<string | null>;
  whenSessionChanges(callback: (what: string) => void): void;
};

let session: Session;
beforeAll(async () => {
  // The token's renewal would come in its time.
  jest.useFakeTimers({ doNotFake: ["setImmediate", "nextTick", "queueMicrotask", "Date"] });
  Object.assign(globalThis, { localStorage: storage, BroadcastChannel: NoOtherTab, navigator: {} });
  // Its types are a browser's.
  session = await import(String(new URL("session.ts", import.meta.url)));
});
afterAll(() => {
  jest.useRealTimers();
});

it("a sign-in over the page is not answered by the renewal of the session that ended", async () => {
  const replies: ((reply: Response) => void)[] = [];
  const fetched = jest
    .spyOn(globalThis, "fetch")
    .mockImplementation(() => new Promise((resolve) => replies.push(resolve)));
  const restored = new Promise<string>((resolve) => session.whenSessionChanges(resolve));
  const before = session.accessToken();
  const after = session.signedInAgain();
  expect(replies).toHaveLength(1);
  replies[0]?.(refused());
  expect(await before).toBeNull();
  expect(await restored).toBe("session-ended");
  while (replies.length < 2) await new Promise(setImmediate);
  const renewed = new Promise<string>((resolve) => session.whenSessionChanges(resolve));
  replies[1]?.(json(200, { accessToken: "new", expiresInSeconds: 60 }));
  expect(await after).toBe("new");
  expect(await renewed).toBe("restored");
  fetched.mockRestore();
});
