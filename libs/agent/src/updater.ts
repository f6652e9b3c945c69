import { followRoots, messageOf, type NoteVerifier, parseVerifier, type TrustedRoot } from "@muster/kit/agent";
import { type DownloadDeps, downloadOffer } from "./download.ts";
import type { AfterUpdate, Host, UpdateReport } from "./host.ts";
import { type AcceptedOffer, checkOffer, type Offer, UpdateRefused } from "./offer.ts";

export type Prepared = { accepted: AcceptedOffer; part: string };

export type Updater = {
  /** Validates an offer, downloads and proves its file. Returns the report of a failure otherwise. Never throws. */
  prepare(offer: Offer, serverMs: number): Promise<Prepared | { failed: UpdateReport }>;
  /** Replaces the component. Never throws. */
  install(offer: Offer, prepared: Prepared): Promise<AfterUpdate>;
};

const errorMax = 500;

/** Updates of one agent: what it trusts and has seen is stored in its host's identity. */
export function createUpdater(deps: DownloadDeps & { host: Host; pinned: TrustedRoot }): Updater {
  const { host, pinned } = deps;
  const { identity } = host;

  /** Keys that the pinned ones lead to by the root notes that came along; what was learned is stored. */
  const trusted = (offer: Offer): readonly NoteVerifier[] => {
    if (pinned.keys.length === 0) return [];
    const learned = identity.root;
    const before: TrustedRoot =
      learned && learned.number > pinned.number ? { ...learned, keys: learned.keys.map(parseVerifier) } : pinned;
    const found = followRoots(before, offer.rootNotes);
    if (found.number > before.number) {
      identity.root = { number: found.number, keys: found.keys.map(({ text }) => text) };
      host.save();
    }
    return found.keys;
  };

  const failureOf = ({ component, version }: Offer, error: unknown): UpdateReport => {
    const reason = error instanceof UpdateRefused ? error.reason : messageOf(error).slice(0, errorMax);
    return { component, version, state: "failed", error: reason || "failed" };
  };

  return {
    async prepare(offer, serverMs) {
      try {
        const { os, arch, libc, orgId } = identity;
        const counter = identity.counters?.[offer.component] ?? 0;
        const facts = { keys: trusted(offer), os, arch, libc, counter, orgId, now: host.now(serverMs) };
        const accepted = checkOffer(offer, facts);
        if (await host.has?.(offer, accepted)) return { accepted, part: "" };
        const part = await host.partOf(offer);
        await downloadOffer(deps, offer, part);
        await host.prove?.(offer, accepted, part);
        return { accepted, part };
      } catch (error) {
        return { failed: failureOf(offer, error) };
      }
    },
    async install(offer, { accepted, part }) {
      try {
        return await host.install(offer, accepted, part);
      } catch (error) {
        return { heartbeat: "at once", report: failureOf(offer, error) };
      }
    },
  };
}
