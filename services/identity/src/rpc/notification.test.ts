import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { sql } from "@muster/db";
import { type Caller, uuidv7 } from "@muster/kit";
import { NotificationAuthor, NotificationService } from "@muster/proto/muster/identity/v1/notification_pb";
import { callers } from "@muster/testing";
import type { OutgoingMail } from "../clients/mail-delivery.ts";
import { mailDueLines } from "../commands/notify.ts";
import { sendDueMail } from "../jobs/send-mail.ts";
import { codeOf, startTestIdentity, type TestIdentity } from "../testing/identity.ts";
import { activeUser, signedIn, type User } from "../testing/users.ts";

const kind = "audit_alert";
const hourMs = 3_600_000;
let identity: TestIdentity;
let sent: OutgoingMail[] = [];
beforeAll(async () => {
  identity = await startTestIdentity();
});
afterAll(() => identity?.close());

const audit = () => identity.port.client(NotificationService, callers.service("audit"));
const own = (caller: Caller) => identity.port.client(NotificationService, caller);
const anyone = () => own(callers.service("gateway"));

type Wanted = { id?: string; line?: string; author?: string; permission?: string };

function tell(
  to: User,
  { id = uuidv7(), line = "New administrator", author = "", permission = "audit:read" }: Wanted = {},
) {
  const { userId, orgId, partnerId } = to;
  const about = { orgId, partnerId, permission };
  return audit().notify({ ...about, id, kind, authorId: author, userIds: [userId], line, link: "/audit?category=x" });
}

/** Mails to the user that are due now. */
async function mailsTo({ email }: User): Promise<OutgoingMail[]> {
  while (await mailDueLines(identity.notifications));
  const send = async (mail: OutgoingMail) => void sent.push(mail);
  await sendDueMail({ ...identity.posting, delivery: { send, close: () => undefined } });
  const own = sent.filter(({ to, kind: of }) => to.address === email && of === "notification");
  sent = sent.filter((mail) => !own.includes(mail));
  return own;
}

const passHour = () => {
  identity.clock.now = new Date(identity.clock.now.getTime() + hourMs);
};

describe("notifications", () => {
  it("come in one mail at once, and then in one an hour that lists what came meanwhile", async () => {
    const user = await activeUser(identity);
    await tell(user, { line: "one" });
    const [first, ...more] = await mailsTo(user);
    expect(more).toEqual([]);
    expect(first?.text).toContain("- one\n  https://muster.example.test/audit?category=x");
    await tell(user, { line: "two" });
    await tell(user, { line: "three" });
    expect(await mailsTo(user)).toEqual([]);
    passHour();
    const later = await mailsTo(user);
    expect(later.map(({ text }) => text.match(/^- .*/gm))).toEqual([["- two", "- three"]]);
    passHour();
    expect(await mailsTo(user)).toEqual([]);
  });

  it("arrive once, however often their sender repeats them, before and after the mail", async () => {
    const user = await activeUser(identity);
    const id = uuidv7();
    for (let i = 0; i < 2; i++) expect((await tell(user, { id })).notifiedIds).toEqual([user.userId]);
    expect((await mailsTo(user))[0]?.text.match(/^- /gm)).toHaveLength(1);
    expect((await tell(user, { id })).notifiedIds).toEqual([user.userId]);
    passHour();
    expect(await mailsTo(user)).toEqual([]);
  });

  it("reach nobody who may not read them, when they are sent and when they are mailed", async () => {
    const user = await activeUser(identity);
    expect((await tell(user, { permission: "users:write" })).notifiedIds).toEqual([]);
    expect((await tell(user)).notifiedIds).toEqual([user.userId]);
    await identity.db.tx(identity.system, (tx) =>
      tx.execute(sql`UPDATE users SET status = 'disabled' WHERE id = ${user.userId}`),
    );
    expect(await mailsTo(user)).toEqual([]);
  });

  it("are sent for an author only while the author may read them", async () => {
    const user = await activeUser(identity);
    expect((await tell(user, { author: user.userId })).author).toBe(NotificationAuthor.ALLOWED);
    expect(await tell(user, { author: uuidv7() })).toMatchObject({
      author: NotificationAuthor.MISSING,
      notifiedIds: [],
    });
    const { orgId, partnerId } = user;
    const find = async (authorId: string) =>
      (await audit().findAuthor({ authorId, orgId, partnerId, permission: "audit:read" })).author;
    const other = await activeUser(identity);
    expect(await Promise.all([user.userId, other.userId, uuidv7()].map(find))).toEqual([
      NotificationAuthor.ALLOWED,
      NotificationAuthor.REFUSED,
      NotificationAuthor.MISSING,
    ]);
    expect(await tell(user, { author: other.userId })).toMatchObject({
      author: NotificationAuthor.REFUSED,
      notifiedIds: [],
    });
    await identity.usersAs(await identity.user(callers.platformAdmin())).disableUser({ id: user.userId });
    const third = { ...(await activeUser(identity)), orgId: user.orgId };
    expect((await tell(third, { author: user.userId })).author).toBe(NotificationAuthor.REFUSED);
  });

  it("end by the mail's link, without signing in, and can be chosen again", async () => {
    const user = await activeUser(identity);
    await tell(user);
    const [mail] = await mailsTo(user);
    const token = decodeURIComponent(/unsubscribe#token=(\S+)/.exec(mail?.text ?? "")?.[1] ?? "");
    await anyone().unsubscribe({ token });
    await anyone().unsubscribe({ token });
    const { caller } = await signedIn(identity, user);
    const { choices } = await own(caller).listNotificationChoices({});
    expect(choices.filter(({ mail }) => !mail)).toMatchObject([{ kind }]);
    expect((await tell(user)).notifiedIds).toEqual([]);
    await own(caller).setNotificationChoice({ choice: { kind, mail: true } });
    expect((await tell(user)).notifiedIds).toEqual([user.userId]);
    const rows = (await identity.auditOf(user.userId)).filter(({ action }) => action === "user.notifications.update");
    expect(rows.map(({ detailsJson }) => JSON.parse(detailsJson).changes.after)).toEqual([
      { mail: false },
      { mail: true },
    ]);
  });

  it.each(["", "nothing", "A".repeat(200)])("do not end by the token %s", async (token) => {
    expect(await codeOf(anyone().unsubscribe({ token }))).toBe("invalid_token");
  });

  it("refuse a kind that there is not, and a caller who is no service", async () => {
    const user = await activeUser(identity);
    const { caller } = await signedIn(identity, user);
    expect(await codeOf(own(caller).setNotificationChoice({ choice: { kind: "x", mail: true } }))).toBe(
      "validation_failed",
    );
    expect(await codeOf(own(caller).notify({ id: uuidv7(), kind }))).not.toBe("answered");
    expect(await codeOf(identity.port.client(NotificationService, callers.service("tenancy")).notify({}))).not.toBe(
      "answered",
    );
  });
});

describe("the choice of notifications", () => {
  it("has no kind of the platform for users of organizations, who cannot choose it", async () => {
    const { caller } = await signedIn(identity, await activeUser(identity));
    const { choices } = await own(caller).listNotificationChoices({});
    expect(choices.map((each) => each.kind)).toEqual(["audit_alert", "webhook_health"]);
    const choice = { kind: "rollout_halted", mail: false };
    expect(await codeOf(own(caller).setNotificationChoice({ choice }))).toBe("validation_failed");
  });
});

describe("notifications of the whole platform", () => {
  const halted = (change: object = {}) =>
    identity.port.client(NotificationService, callers.service("agent-release")).notify({
      ...{ id: uuidv7(), kind: "rollout_halted", permission: "platform:admin", allOfPlatform: true },
      ...{ line: "agent 2.0.0: 3 failures", link: "/releases/rollouts/1", ...change },
    });

  it("reach its active users who hold the permission, and no tenant's", async () => {
    const id = identity.roleId("platform-admin");
    const admins = [uuidv7(), uuidv7()];
    await identity.db.tx(identity.system, async (tx) => {
      for (const [at, userId] of admins.entries()) {
        await tx.execute(sql`
          INSERT INTO users (id, email, name, scope, role_id, status, created_at, updated_at)
          VALUES (${userId}, ${`${userId}@example.com`}, 'Ops', 'system', ${id}, ${at === 0 ? "active" : "disabled"}, now(), now())`);
      }
    });
    const tenant = await activeUser(identity);
    const { notifiedIds } = await halted();
    const others = [...admins, tenant.userId].filter((each) => notifiedIds.includes(each));
    expect(others).toEqual([admins[0]]);
    expect((await halted({ permission: "no:such" })).notifiedIds).toEqual([]);
    expect(await codeOf(halted({ userIds: [admins[0]] }))).toBe("validation_failed");
    expect(await codeOf(halted({ partnerId: uuidv7() }))).toBe("validation_failed");
  });

  it("reach those of a partner's own users who hold the permission, for what is the partner's", async () => {
    const [partnerId, other] = [await identity.addPartner(), await identity.addPartner()];
    const users = [
      { id: uuidv7(), of: partnerId, role: "partner-admin" },
      { id: uuidv7(), of: partnerId, role: "partner-technician" },
      { id: uuidv7(), of: other, role: "partner-admin" },
    ];
    await identity.db.tx(identity.system, async (tx) => {
      for (const { id, of, role } of users) {
        await tx.execute(sql`
          INSERT INTO users (id, email, name, scope, partner_id, org_access, role_id, status, created_at, updated_at)
          VALUES (${id}, ${`${id}@example.com`}, 'Ops', 'partner', ${of}, 'all', ${identity.roleId(role)}, 'active', now(), now())`);
      }
    });
    const ofPartner = { allOfPlatform: false, allOfPartner: true, permission: "partner:policy" };
    expect((await halted({ ...ofPartner, partnerId })).notifiedIds).toEqual([users[0]?.id]);
    expect(await codeOf(halted(ofPartner))).toBe("validation_failed");
    expect(await codeOf(halted({ ...ofPartner, partnerId, orgId: uuidv7() }))).toBe("validation_failed");
    expect(await codeOf(halted({ ...ofPartner, partnerId, userIds: [uuidv7()] }))).toBe("validation_failed");
  });
});
