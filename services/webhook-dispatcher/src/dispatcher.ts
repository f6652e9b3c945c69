import type { Bus } from "@muster/bus";
import type { Egress } from "@muster/egress";
import { type Logger, type SecretBox, secretBox } from "@muster/kit";
import { AttentionService } from "@muster/proto/muster/common/v1/attention_pb";
import { DeliveryService } from "@muster/proto/muster/webhook/v1/delivery_pb";
import { EventService } from "@muster/proto/muster/webhook/v1/event_pb";
import { EventTypeService } from "@muster/proto/muster/webhook/v1/event_type_pb";
import { PushService } from "@muster/proto/muster/webhook/v1/push_pb";
import { ReplayService } from "@muster/proto/muster/webhook/v1/replay_pb";
import { WebhookService } from "@muster/proto/muster/webhook/v1/webhook_pb";
import { type Registration, register } from "@muster/rpc";
import { attentionService, encryptionKeys, type TenantReader } from "@muster/service";
import type { z } from "zod";
import type { SinkEgresses } from "./clients/sink-egress.ts";
import { createWakeUp } from "./clients/wake-up.ts";
import { Intake, type IntakeDeps } from "./commands/intake.ts";
import type { IntakeThrottle } from "./commands/intake-throttle.ts";
import { ownEvents } from "./commands/own-events.ts";
import { boundedSchemas } from "./commands/slow-schemas.ts";
import { healthLimits, healthThresholds, type settings } from "./config.ts";
import { type MatcherDeps, startMatcher } from "./events/matcher.ts";
import { startReplayer } from "./jobs/replayer.ts";
import { failingWebhookSource } from "./rpc/attention.ts";
import { deliveryService } from "./rpc/delivery.ts";
import { eventService } from "./rpc/event.ts";
import { eventTypeService } from "./rpc/event-type.ts";
import { pushService } from "./rpc/push.ts";
import { replayService } from "./rpc/replay.ts";
import { webhookService } from "./rpc/webhook.ts";
import { Sender, type SenderDeps } from "./sender/sender.ts";
import type { Concurrency } from "./store/queued.ts";
import type { ReplayLimits } from "./store/replays.ts";
import { secretPurposes } from "./store/sealed-columns.ts";

export type DispatcherDeps = TenantReader & {
  log: Logger;
  now: () => Date;
  egress: Egress;
  sinks: Pick<SinkEgresses, "of">;
  config: z.infer<z.ZodObject<typeof settings>> & { DRAIN_GRACE_MS: number };
};

type Stoppable = { stop(): Promise<void> };

/**
 * The parts of one process, and what they wake in one another: intake and matcher store events, and have the sender
 * send what they leased; deliveries that are queued wake the senders and replayers of all processes.
 */
export class Dispatcher {
  /** What stores posted events, and those of the stream. */
  readonly storing: IntakeDeps & MatcherDeps;
  readonly intake: Intake;
  readonly concurrency: Concurrency;
  readonly box: SecretBox;
  /** Deliveries may be due: wakes the senders and replayers of all processes. */
  readonly wake = (): void => this.#wakeUp.notify();
  readonly #deps: DispatcherDeps;
  readonly #senders: Sender[] = [];
  readonly #wakes = new Set<() => void>();
  readonly #wakeUp = createWakeUp(() => this.#wakeHere());

  constructor(deps: DispatcherDeps) {
    const { db, log, now, config } = deps;
    this.#deps = deps;
    this.box = secretBox(encryptionKeys(config), secretPurposes.webhooks);
    this.concurrency = {
      webhookConcurrency: config.WEBHOOK_CONCURRENCY,
      organizationConcurrency: Math.ceil((config.SENDER_CONCURRENCY * config.ORGANIZATION_SHARE_PERCENT) / 100),
      hostConcurrency: config.HOST_CONCURRENCY,
    };
    this.storing = {
      ...{ db, log, now, wake: this.wake },
      webhookConcurrency: config.WEBHOOK_CONCURRENCY,
      batchEvents: config.MATCH_BATCH_EVENTS,
      retentionDays: config.WEBHOOK_RETENTION_DAYS,
      sends: () => this.#senders.at(-1)?.inline ?? null,
    };
    this.intake = new Intake(this.storing);
  }

  /** Notifies other processes and is notified by them, until stopped. */
  connect(bus: Pick<Bus, "relay">): { stop(): void } {
    return this.#wakeUp.connect(bus);
  }

  /** Sends deliveries until stopped. */
  startSender(change: Partial<SenderDeps> = {}): Stoppable & Pick<Sender, "wake" | "inline"> {
    const { db, log, now, egress, config } = this.#deps;
    const sender = new Sender({
      ...{ db, log, now, egress, box: this.box, random: Math.random },
      ...this.concurrency,
      concurrency: config.SENDER_CONCURRENCY,
      leaseMs: config.DELIVERY_LEASE_MS,
      timeoutMs: config.DELIVERY_TIMEOUT_MS,
      jitterPercent: config.RETRY_JITTER_PERCENT,
      limits: healthLimits(config),
      graceMs: Math.max(0, config.DRAIN_GRACE_MS - 1_000),
      ...change,
    });
    const { wake, inline } = sender;
    this.#senders.push(sender);
    this.#wakes.add(wake);
    const stop = () => {
      this.#senders.splice(this.#senders.indexOf(sender), 1);
      this.#wakes.delete(wake);
      return sender.stop();
    };
    return { wake, inline, stop };
  }

  /** Works on replays until stopped. */
  startReplayer(change: Partial<ReplayLimits> = {}): Stoppable {
    const { db, log, config } = this.#deps;
    const limits = { window: config.REPLAY_WINDOW, chunk: 1_000, everyMs: config.REPLAY_INTERVAL_MS, ...change };
    const replayer = startReplayer({ db, log, limits, wake: () => this.#wakeHere() });
    this.#wakes.add(replayer.wake);
    const stop = () => {
      this.#wakes.delete(replayer.wake);
      return replayer.stop();
    };
    return { stop };
  }

  /** The role of senders: sends deliveries and works on replays, until stopped. */
  startSending(): Stoppable {
    const [sender, replayer] = [this.startSender(), this.startReplayer()];
    return { stop: async () => void (await Promise.all([sender.stop(), replayer.stop()])) };
  }

  /** The role of matchers: stores the events of the stream and of the backlog, until stopped. */
  startMatching(bus: Pick<Bus, "consume">, change: Partial<MatcherDeps> = {}): Stoppable {
    return startMatcher(bus, { ...this.storing, ...change });
  }

  /** The RPCs, served in every role. */
  registrations(throttle: IntakeThrottle): Registration[] {
    const { db, log, now, learnTenants, egress, sinks, config } = this.#deps;
    const { intake, wake, box } = this;
    const tenants = { db, now, learnTenants };
    const replyBox = secretBox(encryptionKeys(config), secretPurposes.replies);
    const webhooks = {
      ...{ ...tenants, wake, intake, box, replyBox, egress },
      secretGraceHours: config.SECRET_GRACE_HOURS,
      perOrganization: config.WEBHOOKS_PER_ORGANIZATION,
      retentionDays: config.WEBHOOK_RETENTION_DAYS,
      health: healthThresholds(config),
    };
    const schemas = boundedSchemas({ log });
    const eventTypesPerOrganization = config.EVENT_TYPES_PER_ORGANIZATION;
    const limits = { timeoutMs: config.DELIVERY_TIMEOUT_MS, concurrency: config.PUSH_CONCURRENCY };
    const pushes = { egress, sinks, now, ...limits };
    return [
      register(WebhookService, webhookService(webhooks)),
      register(DeliveryService, deliveryService({ ...tenants, wake, testsPerMinute: config.WEBHOOK_TESTS_PER_MINUTE })),
      register(EventService, eventService({ ...tenants, intake, throttle, own: ownEvents({ db, schemas }) })),
      register(EventTypeService, eventTypeService({ ...tenants, schemas, eventTypesPerOrganization })),
      register(ReplayService, replayService({ ...tenants, wake })),
      register(PushService, pushService(pushes)),
      register(AttentionService, attentionService(db, [failingWebhookSource({ now, health: webhooks.health })])),
    ];
  }

  #wakeHere(): void {
    for (const wake of this.#wakes) wake();
  }
}
