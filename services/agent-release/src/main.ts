import { openEgress, parseExceptions } from "@muster/egress";
import { AttentionService } from "@muster/proto/muster/common/v1/attention_pb";
import { DownloadService } from "@muster/proto/muster/release/v1/download_pb";
import { ReleaseService } from "@muster/proto/muster/release/v1/release_pb";
import { RolloutService } from "@muster/proto/muster/release/v1/rollout_pb";
import { SettingsService } from "@muster/proto/muster/release/v1/settings_pb";
import { RolloutTemplateService } from "@muster/proto/muster/release/v1/template_pb";
import { UpdateService } from "@muster/proto/muster/release/v1/update_pb";
import { register } from "@muster/rpc";
import {
  attentionService,
  notificationClient,
  requestPurge,
  runService,
  type ServiceContext,
  startPurges,
} from "@muster/service";
import type { z } from "zod";
import { openSources, openStorage } from "./clients/open.ts";
import { tenancyClient } from "./clients/tenancy.ts";
import { cancelOfGone } from "./commands/cancel-attempts.ts";
import { contactDue } from "./commands/contact-due.ts";
import { createPlanMemory } from "./commands/plan-memory.ts";
import { startSyncing } from "./commands/sync-releases.ts";
import { migrations, service, settings, version } from "./config.ts";
import { startEndingAttempts } from "./jobs/end-attempts.ts";
import { startHaltNotices } from "./jobs/halt-notices.ts";
import { type PlatformFeed, watchPlatformFeed } from "./jobs/watch-platform-feed.ts";
import { haltedRolloutSource } from "./rpc/attention.ts";
import { downloadService } from "./rpc/download.ts";
import { releaseService } from "./rpc/release.ts";
import { rolloutService } from "./rpc/rollout.ts";
import { settingsService } from "./rpc/settings.ts";
import { rolloutTemplateService } from "./rpc/template.ts";
import { updateService } from "./rpc/update.ts";
import { manifestKeys } from "./rules/manifest.ts";
import { mayBeUnsigned, trustState } from "./rules/trust.ts";
import { purgePlan } from "./store/purge.ts";

let feed: PlatformFeed | undefined;

await runService({
  name: "agent-release",
  version,
  settings,
  migrations,
  async figures() {
    const newerRelease = feed?.newer();
    return newerRelease ? { newerRelease } : {};
  },
  tenantCopy: { onPurged: requestPurge, onDevices: cancelOfGone },
  async start(context) {
    const { db, config, learnTenants, process: proc } = context;
    const { log } = proc;
    const now = () => new Date();
    const keys = manifestKeys(config.RELEASE_MANIFEST_KEYS);
    const trust = { keys: keys.length, nodeEnv: config.NODE_ENV, allowUnsigned: config.ALLOW_UNSIGNED_RELEASES };
    const unsigned = mayBeUnsigned(trust);
    const state = trustState(trust);
    proc.readiness.addCheck("releases", () => state);
    if (keys.length === 0 && !unsigned) log.warn({ setting: "RELEASE_MANIFEST_KEYS" }, state);
    const exceptions = parseExceptions(config.EGRESS_TEST_EXCEPTIONS, config.NODE_ENV);
    const egress = openEgress({ profile: "release", exceptions });
    proc.onStop("connections to the release source", () => egress.close());
    const watched = watchPlatformFeed({ egress, log, url: config.RELEASE_FEED_URL, version });
    feed = watched;
    proc.onStop("feed of releases", () => watched.stop());
    const sources = openSources(config, egress);
    const storage = await openStorage(config);
    proc.onStop("store of binaries", () => storage?.close());
    const tenancy = tenancyClient({ baseUrls: config.TENANCY_URL, privateKeys: config.CALLER_PRIVATE_KEYS });
    proc.onStop("client of tenancy", () => tenancy.close());
    const mfaMaxAgeMinutes = config.MFA_MAX_AGE_MINUTES;
    const autoPromote = config.AGENT_AUTO_PROMOTE;
    const storeAll = config.BINARY_SOURCE === "local";
    const syncing = startSyncing({ db, log, now, keys, unsigned, sources, storage, storeAll, autoPromote });
    proc.onStop("syncs", () => syncing.stop());
    startMails(context);
    const ending = startEndingAttempts({ db, log, now });
    proc.onStop("ends of updates", () => ending.stop());
    const purges = startPurges({ db, service: "agent-release", log, plan: purgePlan });
    proc.onStop("purges", () => purges.stop());

    const plan = createPlanMemory({ unsigned, keys });
    const ramp = { startBudget: config.ROLLOUT_START_BUDGET, firstDeviceAlone: config.ROLLOUT_FIRST_DEVICE_ALONE };
    const deciding = {
      db,
      log,
      now,
      contactDue: contactDue(),
      plan,
      begin: tenancy.begin,
      end: tenancy.end,
      timeoutSeconds: config.UPDATE_TIMEOUT_SECONDS,
      backOffMs: config.UPDATE_BACK_OFF_SECONDS.split(",").map((seconds) => Number(seconds) * 1_000),
      ramp,
      progressMaxSeconds: config.UPDATE_PROGRESS_MAX_MINUTES * 60,
      heartbeatIntervalSeconds: config.HEARTBEAT_INTERVAL_SECONDS,
    };
    const rollouts = { db, now, mfaMaxAgeMinutes, countDevices: tenancy.countDevices };
    return [
      register(
        ReleaseService,
        releaseService({
          db,
          log,
          now,
          keys,
          unsigned,
          plan,
          sources,
          storage,
          autoPromote,
          mfaMaxAgeMinutes,
          wakeSync: syncing.wake,
        }),
      ),
      register(UpdateService, updateService({ ...deciding, tenancy })),
      register(DownloadService, downloadService({ db, storage, plan, preferStore: storeAll })),
      register(SettingsService, settingsService({ db, learnTenants, now, keys, mfaMaxAgeMinutes })),
      register(RolloutTemplateService, rolloutTemplateService(rollouts)),
      register(AttentionService, attentionService(db, [haltedRolloutSource])),
      register(RolloutService, rolloutService({ ...rollouts, plan, ramp, stagedMax: config.STAGED_ROLLOUTS_MAX })),
    ];
  },
});

type Context = Pick<
  ServiceContext<z.infer<z.ZodObject<typeof settings>> & { CALLER_PRIVATE_KEYS: string }>,
  "db" | "config" | "process"
>;

/** Mails about halted rollouts, where there is an identity to send them. */
function startMails({ db, config, process: proc }: Context): void {
  const { IDENTITY_URL: baseUrls, CALLER_PRIVATE_KEYS: privateKeys } = config;
  if (!baseUrls) {
    proc.log.warn("no IDENTITY_URL: nobody gets mails of halted rollouts");
    return;
  }
  const identity = notificationClient({ service, baseUrls, privateKeys });
  proc.onStop("client of identity", () => identity.close());
  const notices = startHaltNotices({ db, log: proc.log, now: () => new Date(), notify: identity.notify });
  proc.onStop("notices of halts", () => notices.stop());
}
