import type { AgentIdentity } from "./identity.ts";
import type { AcceptedOffer, Component, Offer } from "./offer.ts";

/** What the next heartbeat reports about an update. */
export type UpdateReport = { component: Component; version: string; state: string; error?: string };

/** How an agent continues after an update. */
export type AfterUpdate =
  /** Heartbeats at once, or with its next one; `revert` restores the previous version after that. */
  | { heartbeat: "at once" | "next time"; report: UpdateReport | null; revert?: () => Promise<void> }
  /** This process ends: another one continues, or none. */
  | { heartbeat: "never" };

/** A machine, real or simulated, on which an agent runs: all that the protocol needs of it. */
export type Host = {
  /** Identity of this agent; `save` stores it as it is now, before it returns. Throws the error of the disk. */
  readonly identity: AgentIdentity;
  save(): void;
  /** Key of an enrollment; null when it has none. */
  enrollmentKey(): string | null;
  /** Labels of the device, sent once with the enrollment. */
  labels?(): Record<string, string>;
  /** Facts of a heartbeat. */
  facts(): { status: string; metrics: Record<string, number>; ipAddresses?: readonly string[] };
  /** A heartbeat was accepted: the version that sent it works. */
  accepted?(reply: Record<string, unknown>, report: UpdateReport | null): void;
  /** Time by which a manifest has expired or not; `serverMs` is the server's, of its last reply. */
  now(serverMs: number): Date;
  /** Whether it has the program of this file already, downloaded and proved. */
  has?(offer: Offer, accepted: AcceptedOffer): Promise<boolean>;
  /** Path of the file to which a component's offer is downloaded. Throws when it must not update. */
  partOf(offer: Offer): Promise<string>;
  /** A download is whole: proves it, where it can be proved. Throws what is reported as failed. */
  prove?(offer: Offer, accepted: AcceptedOffer, part: string): Promise<void>;
  /** Replaces the component by the downloaded file. Throws what is reported as failed. */
  install(offer: Offer, accepted: AcceptedOffer, part: string): Promise<AfterUpdate>;
  /** Milliseconds to wait before the download of an offer. */
  downloadDelayMs?(): number;
};
