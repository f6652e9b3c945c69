import { openEgress, parseExceptions, parseForwardProxy } from "@muster/egress";
import { notificationClient, requestPurge, runService, startPurges } from "@muster/service";
import { openSinkEgresses } from "./clients/sink-egress.ts";
import { healthThresholds, migrations, settings, version } from "./config.ts";
import { Dispatcher } from "./dispatcher.ts";
import { startHealthNotices } from "./jobs/health-notices.ts";
import { startHealthReporter } from "./jobs/health-reporter.ts";
import { startIntakeThrottle } from "./jobs/intake-throttle.ts";
import { startMaintenance } from "./jobs/maintenance.ts";
import { dueDeliveries } from "./store/due-deliveries.ts";
import { purgePlan } from "./store/purge.ts";
import { sealedColumns } from "./store/sealed-columns.ts";
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
    const exceptions = parseExceptions(config.EGRESS_TEST_EXCEPTIONS, config.NODE_ENV);
    const egress = openEgress({ profile: "webhook", exceptions, proxy: parseForwardProxy(config.EGRESS_PROXY_URL) });
    proc.onStop("connections to receivers", () => egress.close());
    const sinks = openSinkEgresses(config, exceptions);
    proc.onStop("connections to sinks", () => sinks.close());
    const dispatcher = new Dispatcher({ db, log, now: () => new Date(), learnTenants, egress, sinks, config });
    const { concurrency } = dispatcher;
    const maintenance = startMaintenance({ db, log, retentionDays: config.WEBHOOK_RETENTION_DAYS, concurrency });
    proc.onStop("maintenance", () => maintenance.stop());
    const thresholds = healthThresholds(config);
    const health = startHealthReporter({ db, log, now: () => new Date(), thresholds });
    proc.onStop("health reporter", () => health.stop());
    const { IDENTITY_URL: baseUrls, CALLER_PRIVATE_KEYS: privateKeys } = config;
    if (baseUrls) {
      const identity = notificationClient({ service: "webhook-dispatcher", baseUrls, privateKeys });
      proc.onStop("client of identity", () => identity.close());
      const notices = startHealthNotices({ db, log, notify: identity.notify });
      proc.onStop("notices of health", () => notices.stop());
    } else {
      log.warn("no IDENTITY_URL: nobody gets mails about the health of webhooks");
    }
    const purges = startPurges({ db, service: "webhook-dispatcher", log, plan: purgePlan });
    proc.onStop("purges", () => purges.stop());

    if (config.DISPATCHER_ROLE !== "matcher") {
      const sending = dispatcher.startSending();
      proc.onStop("sender", () => sending.stop());
    }
    onBus(async (bus) => dispatcher.connect(bus));
    onBus(async (bus) => (config.DISPATCHER_ROLE === "sender" ? undefined : dispatcher.startMatching(bus)));
    const throttle = startIntakeThrottle({
      db,
      log,
      limits: { ...concurrency, overdueMaxMs: config.INTAKE_OVERDUE_MAX_MS },
    });
    proc.onStop("intake throttle", () => throttle.stop());
    return dispatcher.registrations(throttle);
  },
});
