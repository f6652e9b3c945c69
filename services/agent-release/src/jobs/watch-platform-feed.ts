import type { Egress } from "@muster/egress";
import { type Logger, type Repeating, repeatEvery } from "@muster/kit";
import { newerThan, type PlatformRelease } from "../clients/platform-feed.ts";

const everyMs = 12 * 3_600_000;

export type PlatformFeed = Repeating & {
  /** The newer release of the last answer; null when there is none, or the feed was bad. */
  newer(): PlatformRelease | null;
  /** Reads the feed once. */
  read(): Promise<void>;
};

type Options = { egress: Egress; log: Logger; url: string | undefined; version: string };

/** Reads the feed of RELEASE_FEED_URL at once and every twelve hours. Without that setting nothing is asked. */
export function watchPlatformFeed({ egress, log, url, version }: Options): PlatformFeed {
  let found: PlatformRelease | null = null;
  const onFailure = (error: unknown) => {
    found = null;
    log.warn({ setting: "RELEASE_FEED_URL", err: error }, "the feed of releases cannot be read");
  };
  const read = async () => {
    if (url === undefined) return;
    try {
      found = await newerThan(version, { egress, url });
    } catch (error) {
      onFailure(error);
    }
  };
  const first = read();
  const repeating = repeatEvery(everyMs, read, onFailure);
  return {
    newer: () => found,
    read,
    async stop() {
      await Promise.all([first, repeating.stop()]);
    },
  };
}
