import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { createLogger, uuidv7 } from "@muster/kit";
import { callers, until } from "@muster/testing";
import type { OutgoingMail } from "../clients/mail-delivery.ts";
import { startTestIdentity, type TestIdentity } from "../testing/identity.ts";
import { activeUser } from "../testing/users.ts";
import { sendDueMail } from "./send-mail.ts";

const log = createLogger("identity-test", "fatal");
let identity: TestIdentity;
beforeAll(async () => {
  identity = await startTestIdentity();
});
afterAll(() => identity?.close());

/** A way to deliver that notes recipients; those at `hangs.example` get no answer from their server until `release`. */
function delivery() {
  const sent: string[] = [];
  const hanging: (() => void)[] = [];
  const send = ({ to: { address } }: OutgoingMail) =>
    new Promise<void>((resolve) => {
      const done = () => {
        sent.push(address);
        resolve();
      };
      if (address.endsWith("@hangs.example")) hanging.push(done);
      else done();
    });
  return {
    sent,
    hanging,
    deps: { ...identity.posting, delivery: { send, close: () => undefined }, log },
    release() {
      for (const done of hanging.splice(0)) done();
    },
  };
}

/** A new organization that has invited this many users. */
async function inviting(count: number, domain: string): Promise<void> {
  const orgId = await identity.addOrganization(await identity.addPartner());
  const root = identity.usersAs(await identity.user(callers.platformAdmin()));
  for (let i = 0; i < count; i++) {
    const email = `${uuidv7()}@${domain}`;
    await root.inviteUser({ email, name: "I", roleId: identity.roleId("org-viewer"), orgId });
  }
}

const forgot = (email: string) => identity.accountAs(callers.service("gateway"), "192.0.2.9").forgotPassword({ email });

describe("mail", () => {
  it("is sent at once while the recipients' servers of other organizations hang", async () => {
    const who = await activeUser(identity);
    const { sent, hanging, deps, release } = delivery();
    await sendDueMail(deps);
    for (let i = 0; i < 3; i++) await inviting(8, "hangs.example");
    const sending = sendDueMail(deps);
    await until("an invitation to hang", async () => hanging.length > 0);
    sent.length = 0;
    await forgot(who.email);
    await until("the link to a new password to be sent", async () => sent.includes(who.email));
    expect(hanging.length).toBe(3);
    const releasing = setInterval(release, 10);
    await sending;
    clearInterval(releasing);
    expect(sent.filter((address) => address.endsWith("@hangs.example"))).toHaveLength(24);
  });

  it("is sent round-robin by organization, however many users one of them invites", async () => {
    const who = await activeUser(identity);
    const { sent, deps } = delivery();
    await sendDueMail(deps);
    sent.length = 0;
    await inviting(30, "many.example");
    await inviting(1, "one.example");
    await forgot(who.email);
    await sendDueMail(deps);
    expect(sent).toHaveLength(32);
    expect(sent.findIndex((address) => address.endsWith("@one.example"))).toBeLessThan(5);
    // In two turns, the request and its mail: a busy machine sends some of the thirty in between, never all.
    expect(sent.indexOf(who.email)).toBeLessThan(25);
  });
});
