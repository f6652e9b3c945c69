import { Link, useNavigate } from "@tanstack/react-router";
import { Building2, Gauge, KeyRound, MonitorSmartphone, PackageCheck, ScrollText, Users, Webhook } from "lucide-react";
import { type Me, whyNot } from "../api/me.tsx";
import { useShortcut } from "../parts/shortcuts.ts";
import { useFilters } from "../parts/use-filters.ts";
import styles from "./shell.module.css";

/** The entries, in the order of their value; `needs` is the operation that the page shows. */
export const entries = [
  { to: "/", title: "Overview", icon: Gauge, keys: "g o", needs: "GET /api/v1/auth/me" },
  { to: "/devices", title: "Devices", icon: MonitorSmartphone, keys: "g d", needs: "GET /api/v1/devices" },
  { to: "/audit", title: "Audit", icon: ScrollText, keys: "g a", needs: "GET /api/v1/audit-logs/logs" },
  { to: "/webhooks", title: "Webhooks", icon: Webhook, keys: "g w", needs: "GET /api/v1/webhooks" },
  { to: "/keys", title: "Keys", icon: KeyRound, keys: "g k", needs: "GET /api/v1/api-keys" },
  { to: "/people", title: "People", icon: Users, keys: "g p", needs: "GET /api/v1/users" },
  { to: "/orgs", title: "Organizations", icon: Building2, keys: "g z", needs: "GET /api/v1/orgs/organizations" },
  { to: "/releases", title: "Releases", icon: PackageCheck, keys: "g e", needs: "GET /api/v1/agent-versions" },
] as const;

export type Entry = (typeof entries)[number];

/** Entries whose page would show something to this person. */
export const entriesFor = (me: Me) => entries.filter(({ needs }) => whyNot(me, needs) === null);

export function Navigation({ me }: { me: Me }) {
  const [{ orgId }] = useFilters();
  return (
    <nav aria-label="Main">
      <ul className={styles.nav}>
        {entriesFor(me).map((entry) => (
          <li key={entry.to}>
            <Link
              to={entry.to}
              search={{ orgId } as never}
              activeOptions={{ exact: entry.to === "/", includeSearch: false }}
            >
              <entry.icon size={17} aria-hidden />
              {entry.title}
            </Link>
            <Shortcut entry={entry} orgId={orgId} />
          </li>
        ))}
      </ul>
    </nav>
  );
}

function Shortcut({ entry, orgId }: { entry: Entry; orgId: string | undefined }) {
  const navigate = useNavigate();
  useShortcut(entry.keys, () => void navigate({ to: entry.to, search: { orgId } as never }));
  return null;
}
