import { openEgress, parseExceptions } from "@muster/egress";
import { secretBox } from "@muster/kit";
import { DeliveryService } from "@muster/proto/muster/webhook/v1/delivery_pb";
import { EventService } from "@muster/proto/muster/webhook/v1/event_pb";
import { PushService } from "@muster/proto/muster/webhook/v1/push_pb";
import { ReplayService } from "@muster/proto/muster/webhook/v1/replay_pb";
import { WebhookService } from "@muster/proto/muster/webhook/v1/webhook_pb";
import { register } from "@muster/rpc";
import { encryptionKeys, requestPurge, runService, startPurges } from "@muster/service";
import { createWakeUp } from "./clients/wake-up.ts";
import type { InlineSends } from "./commands/inline.ts";
import { createIntake } from "./commands/intake.ts";
import { createOrganizationCache } from "./commands/organization-cache.ts";
import { healthLimits, migrations, settings, version } from "./config.ts";
import { startMatcher } from "./events/matcher.ts";
import { startIntakeThrottle } from "./jobs/intake-throttle.ts";
import { startMaintenance } from "./jobs/maintenance.ts";
import { startReplayer } from "./jobs/replayer.ts";
import { deliveryService } from "./rpc/delivery.ts";
import { eventService } from "./rpc/event.ts";
import { pushService } from "./rpc/push.ts";
import { replayService } from "./rpc/replay.ts";
import { webhookService } from "./rpc/webhook.ts";
import { startSender } from "./sender/sender.ts";
import { dueDeliveries } from "./store/due-deliveries.ts";
import { purgePlan } from "./store/purge.ts";
import { sealedColumns, secretPurposes } from "./store/sealed-columns.ts";
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
    const organizationConcurrency = Math.ceil((config.SENDER_CONCURRENCY * config.ORGANIZATION_SHARE_PERCENT) / 100);
    const concurrency = {
      webhookConcurrency: config.WEBHOOK_CONCURRENCY,
      organizationConcurrency,
      hostConcurrency: config.HOST_CONCURRENCY,
    };
    const maintenance = startMaintenance({ db, log, retentionDays: config.WEBHOOK_RETENTION_DAYS, concurrency });
    proc.onStop("maintenance", () => maintenance.stop());
    const purges = startPurges({ db, service: "webhook-dispatcher", log, plan: purgePlan });
    proc.onStop("purges", () => purges.stop());

    let wakeHere: () => void = () => undefined;
    let sends: InlineSends | null = null;
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
        hostConcurrency: config.HOST_CONCURRENCY,
        organizationConcurrency,
        limits: healthLimits(config),
        graceMs: Math.max(0, config.DRAIN_GRACE_MS - 1_000),
      });
      sends = sender.inline;
      const limits = { window: config.REPLAY_WINDOW, chunk: 1_000, everyMs: config.REPLAY_INTERVAL_MS };
      const replayer = startReplayer({ db, log, limits, wake: () => sender.wake() });
      wakeHere = () => {
        sender.wake();
        replayer.wake();
      };
      proc.onStop("replayer", () => replayer.stop());
      proc.onStop("sender", () => sender.stop());
    }
    const cache = createOrganizationCache();
    const wakeUp = createWakeUp(() => wakeHere());
    const wake = () => wakeUp.notify();
    onBus(async (bus) => wakeUp.connect(bus));
    onBus(async (bus) => {
      if (config.DISPATCHER_ROLE === "sender") return undefined;
      const { MATCH_BATCH_EVENTS: batchEvents, WEBHOOK_RETENTION_DAYS: retentionDays } = config;
      const { webhookConcurrency } = concurrency;
      const limits = { batchEvents, retentionDays, webhookConcurrency };
      return startMatcher(bus, { db, log, cache, now, wake, sends: () => sends, ...limits });
    });

    const tenants = { db, now, learnTenants };
    const { SECRET_GRACE_HOURS: secretGraceHours, WEBHOOKS_PER_ORGANIZATION: perOrganization } = config;
    const { WEBHOOK_CONCURRENCY: webhookConcurrency, MATCH_BATCH_EVENTS: batchEvents } = config;
    const intake = createIntake({ db, log, cache, sends: () => sends, wake, webhookConcurrency, batchEvents });
    const throttle = startIntakeThrottle({
      db,
      log,
      limits: { ...concurrency, overdueMaxMs: config.INTAKE_OVERDUE_MAX_MS },
    });
    proc.onStop("intake throttle", () => throttle.stop());
    const testsPerMinute = config.WEBHOOK_TESTS_PER_MINUTE;
    return [
      register(
        WebhookService,
        webhookService({ ...tenants, wake, intake, box, replyBox, egress, secretGraceHours, perOrganization }),
      ),
      register(DeliveryService, deliveryService({ ...tenants, wake, testsPerMinute })),
      register(EventService, eventService({ ...tenants, intake, throttle })),
      register(ReplayService, replayService({ ...tenants, wake })),
      register(
        PushService,
        pushService({ egress, now, timeoutMs: config.DELIVERY_TIMEOUT_MS, concurrency: config.PUSH_CONCURRENCY }),
      ),
    ];
  },
});
