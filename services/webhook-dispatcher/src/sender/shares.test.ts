import { describe, expect, it } from "@jest/globals";
import { uuidv7 } from "@muster/kit";
import { until } from "@muster/testing";
import { eventMessages } from "../testing/dispatcher.ts";
import { ownDispatcher } from "../testing/own-dispatcher.ts";
import { ownSenders } from "../testing/own-senders.ts";

const { dispatcher, receiver } = ownDispatcher();
const start = ownSenders(dispatcher);
const type = "device.online";

/** From now on the receiver's requests hang, but those to its usual path; returns how many hang on a path. */
function hangs() {
  const held = new Map<string, number>();
  receiver.answer(({ path }, response) => {
    if (path === "/hook") return void response.end();
    held.set(path, (held.get(path) ?? 0) + 1);
  });
  return (path: string) => held.get(path) ?? 0;
}

/** An organization with webhooks to this path; either way its events are posted, or come by the stream. */
async function organization(path: string, { partnerId, webhooks = 1 }: { partnerId?: string; webhooks?: number } = {}) {
  const { orgId, admin } = await dispatcher.organization(partnerId);
  const url = new URL(path, dispatcher.urlOf(receiver)).href;
  for (let n = 0; n < webhooks; n++) await dispatcher.webhook(admin, receiver, { url });
  const ways = {
    posted: async (count: number) => {
      for (let n = 0; n < count; n++) await dispatcher.publishBy(admin, { type, id: uuidv7() }, {});
    },
    streamed: (count: number) => dispatcher.match(eventMessages(orgId, count)),
  };
  const queued = async () => (await dispatcher.rows("SELECT FROM webhook_queue WHERE org_id = $1", [orgId])).length;
  return { ...ways, delivered: () => until("its deliveries", async () => (await queued()) === 0) };
}

describe.each(["posted", "streamed"] as const)("at a host that many use, for events that are %s", (way) => {
  it("organizations with hanging webhooks each get their fair share", async () => {
    const open = hangs();
    start({ hostConcurrency: 16, timeoutMs: 60_000 });
    for (const [path, most] of [
      ["/first", 4],
      ["/second", 3],
    ] as const) {
      const bad = await organization(path, { webhooks: 2 });
      await bad[way](20);
      await until(`the share of ${path}`, () => open(path) === most);
    }
    const good = await organization("/hook");
    await good[way](20);
    await good.delivered();
    expect([open("/first"), open("/second")]).toEqual([4, 3]);
  }, 30_000);

  it("a partner gets half of the slots, however many organizations it has", async () => {
    const open = hangs();
    start({ hostConcurrency: 16, timeoutMs: 60_000 });
    const partnerId = uuidv7();
    for (const most of [4, 6, 7, 8]) {
      const bad = await organization("/hangs", { partnerId });
      await bad[way](20);
      await until("the share of its organizations", () => open("/hangs") === most);
    }
    const late = await organization("/hangs", { partnerId });
    await late[way](20);
    const good = await organization("/hook");
    await good[way](20);
    await good.delivered();
    expect(open("/hangs")).toBe(8);
  }, 30_000);
});

describe("open requests of a process", () => {
  it("are limited to a partner's fair share, however many of its organizations hang", async () => {
    const open = hangs();
    start({ concurrency: 4, organizationConcurrency: 4, hostConcurrency: 1_000, timeoutMs: 60_000 });
    const [first, second] = [uuidv7(), uuidv7()];
    for (let n = 0; n < 5; n++) await (await organization("/first", { partnerId: first })).streamed(20);
    await until("half of sixteen", () => open("/first") === 8);
    for (let n = 0; n < 5; n++) await (await organization("/second", { partnerId: second })).posted(20);
    await until("half of the others", () => open("/second") === 4);
    const good = await organization("/hook");
    await good.posted(1);
    await good.delivered();
    await good.streamed(20);
    await good.delivered();
    expect([open("/first"), open("/second")]).toEqual([8, 4]);
  }, 60_000);
});
