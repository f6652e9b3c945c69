export type RecentDevice = { id: string; hostname: string };

const most = 8;
/** Of this page alone: what is kept in the browser would outlive the session. */
let recent: readonly RecentDevice[] = [];

/** The devices that were opened last, the newest first. */
export const recentDevices = (): readonly RecentDevice[] => recent;

export function noteDevice({ id, hostname }: RecentDevice): void {
  recent = [{ id, hostname }, ...recent.filter((each) => each.id !== id)].slice(0, most);
}
