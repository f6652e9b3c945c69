import type { ChangeFeed } from "../clients/device-change-feed.ts";
import type { HealthProbe } from "../clients/health.ts";
import type { Heartbeats } from "../clients/heartbeats.ts";
import type { Services } from "../clients/services.ts";
import type { Difference } from "../clients/shared-settings.ts";
import type { UpdateAnswers } from "../clients/update-answers.ts";
import type { Session } from "./credential.ts";
import type { Rendered } from "./reply.ts";

/** What handlers work with, opened once by main.ts. */
export type Deps = {
  /** The gateway's own, which is that of the release. */
  version: string;
  services: Services;
  /** Sessions cached here: a revoked one is refused, a stale one is resolved again. */
  sessions: {
    revoked(sessionId: string): void;
    forget(matches: (session: Session) => boolean): void;
  };
  /** Address at which users and agents reach this platform, without a trailing slash. */
  publicUrl: string;
  /** Address of the app that browsers are sent back to, without a trailing slash. */
  appUrl: string;
  health: HealthProbe;
  /** Settings that processes must share and do not. */
  differentSettings(): Difference[];
  heartbeats: Heartbeats;
  /** Changes reported by the bus. */
  changes: Pick<ChangeFeed, "listen">;
  /** After each change of releases, rollouts or settings: what this gateway has cached must not be older. */
  updates: Pick<UpdateAnswers, "refresh">;
  /** Public keys of access tokens as JWKS text. Throws AppError `unavailable` while none could be loaded. */
  jwksText(): Promise<string>;
  /** The OpenAPI document of all rows, rendered and compressed once. */
  openApi(): Rendered;
};
