import { openEgress, parseExceptions } from "@muster/egress";
import { secretBox } from "@muster/kit";
import { DeliveryService } from "@muster/proto/muster/webhook/v1/delivery_pb";
import { EventService } from "@muster/proto/muster/webhook/v1/event_pb";
import { PushService } from "@muster/proto/muster/webhook/v1/push_pb";
import { ReplayService } from "@muster/proto/muster/webhook/v1/replay_pb";
import { WebhookService } from "@muster/proto/muster/webhook/v1/webhook_pb";
import { register } from "@muster/rpc";
import { encryptionKeys, requestPurge, runService, startPurges } from "@muster/service";
import { createDoorbell } from "./clients/doorbell.ts";
import type { DirectSends } from "./commands/direct.ts";
import { createIntake } from "./commands/intake.ts";
import { createKnownOrganizations } from "./commands/known-organizations.ts";
import { healthLimits, migrations, settings, version } from "./config.ts";
import { startMatcher } from "./events/matcher.ts";
import { startPressure } from "./jobs/pressure.ts";
import { startReplayer } from "./jobs/replayer.ts";
import { startUpkeep } from "./jobs/upkeep.ts";
import { deliveryService } from "./rpc/delivery.ts";
import { eventService } from "./rpc/event.ts";
import { pushService } from "./rpc/push.ts";
import { replayService } from "./rpc/replay.ts";
import { webhookService } from "./rpc/webhook.ts";
import { startSender } from "./sender/sender.ts";
import { purgePlan } from "./store/purge.ts";
import { sealedColumns, secretPurposes } from "./store/sealed-columns.ts";
import { dueDeliveries } from "./store/standing.ts";
import { stopWebhooksOf } from "./store/webhooks.ts";

await runService({
  name: "webhook-dispatcher",
  version,
  settings,
  migrations,
  sealed: sealedColumns,
  tenantCopy: {
    onPurged: requestPurge,
    async onChange(tx, { kind, id, deleted, before }) {
      if (kind === "site" || (before?.deleted ?? false) === deleted) return;
      await stopWebhooksOf(tx, { kind, id, deleted }, new Date());
    },
  },
  async figures(db) {
    const { due, oldestSeconds } = await dueDeliveries(db);
    return { deliveriesDue: BigInt(due), deliveriesOldestDueSeconds: oldestSeconds };
  },
  async start({ db, config, learnTenants, process: proc, onBus }) {
    const { log } = proc;
    const now = () => new Date();
    const box = secretBox(encryptionKeys(config), secretPurposes.webhooks);
    const replyBox = secretBox(encryptionKeys(config), secretPurposes.replies);
    const exceptions = parseExceptions(config.EGRESS_TEST_EXCEPTIONS, config.NODE_ENV);
    const egress = openEgress({ profile: "webhook", exceptions });
    proc.onStop("connections to receivers", () => egress.close());
    const organizationSlots = Math.ceil((config.SENDER_CONCURRENCY * config.ORGANIZATION_SHARE_PERCENT) / 100);
    const slots = { endpointSlots: config.ENDPOINT_SLOTS, organizationSlots, hostSlots: config.HOST_SLOTS };
    const upkeep = startUpkeep({ db, log, retentionDays: config.WEBHOOK_RETENTION_DAYS, slots });
    proc.onStop("upkeep", () => upkeep.stop());
    const purges = startPurges({ db, service: "webhook-dispatcher", log, plan: purgePlan });
    proc.onStop("purges", () => purges.stop());

    let wakeHere: () => void = () => undefined;
    let sends: DirectSends | null = null;
    if (config.DISPATCHER_ROLE !== "matcher") {
      const sender = startSender({
        db,
        log,
        now,
        box,
        egress,
        concurrency: config.SENDER_CONCURRENCY,
        leaseMs: config.DELIVERY_LEASE_MS,
        timeoutMs: config.DELIVERY_TIMEOUT_MS,
        jitterPercent: config.RETRY_JITTER_PERCENT,
        random: Math.random,
        hostSlots: config.HOST_SLOTS,
        organizationSlots,
        limits: healthLimits(config),
        graceMs: Math.max(0, config.DRAIN_GRACE_MS - 1_000),
      });
      sends = sender.direct;
      const pace = { window: config.REPLAY_WINDOW, chunk: 1_000, everyMs: config.REPLAY_INTERVAL_MS };
      const replayer = startReplayer({ db, log, pace, wake: () => sender.wake() });
      wakeHere = () => {
        sender.wake();
        replayer.wake();
      };
      proc.onStop("replayer", () => replayer.stop());
      proc.onStop("sender", () => sender.stop());
    }
    const known = createKnownOrganizations();
    const bell = createDoorbell(() => wakeHere());
    const wake = () => bell.ring();
    onBus(async (bus) => bell.connect(bus));
    onBus(async (bus) => {
      if (config.DISPATCHER_ROLE === "sender") return undefined;
      const { MATCH_BATCH_EVENTS: batchEvents, WEBHOOK_RETENTION_DAYS: retentionDays } = config;
      const { endpointSlots } = slots;
      const limits = { batchEvents, retentionDays, endpointSlots };
      return startMatcher(bus, { db, log, known, now, wake, sends: () => sends, ...limits });
    });

    const reach = { db, now, learnTenants };
    const { SECRET_OVERLAP_HOURS: secretOverlapHours, WEBHOOKS_PER_ORGANIZATION: perOrganization } = config;
    const { ENDPOINT_SLOTS: endpointSlots, MATCH_BATCH_EVENTS: batchEvents } = config;
    const intake = createIntake({ db, log, known, sends: () => sends, wake, endpointSlots, batchEvents });
    const pressure = startPressure({ db, log, limits: { ...slots, olderMs: config.INTAKE_OLDEST_DUE_MS } });
    proc.onStop("pressure", () => pressure.stop());
    const testsPerMinute = config.WEBHOOK_TESTS_PER_MINUTE;
    return [
      register(
        WebhookService,
        webhookService({ ...reach, wake, intake, box, replyBox, egress, secretOverlapHours, perOrganization }),
      ),
      register(DeliveryService, deliveryService({ ...reach, wake, testsPerMinute })),
      register(EventService, eventService({ ...reach, intake, pressure })),
      register(ReplayService, replayService({ ...reach, wake })),
      register(
        PushService,
        pushService({ egress, now, timeoutMs: config.DELIVERY_TIMEOUT_MS, slots: config.PUSH_CONCURRENCY }),
      ),
    ];
  },
});
