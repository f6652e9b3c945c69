import { Link, useLocation } from "@tanstack/react-router";
import { Ellipsis } from "lucide-react";
import { to } from "../parts/links.ts";
import type { SectionName } from "../parts/sections.ts";
import { useFilters } from "../parts/use-filters.ts";
import type { Me } from "../rules/why-not.ts";
import styles from "./navigation.module.css";
import { entryOf, groupsFor } from "./navigation.tsx";

/** What people do on a phone, the first that this user has; the others are under More. */
const wanted: readonly SectionName[] = ["overview", "devices", "releases", "audit", "users", "webhooks"];
const most = 4;

/** The navigation of a phone, below the page. */
export function BottomNavigation({ me, onMore }: { me: Me; onMore(): void }) {
  const [{ orgId }] = useFilters();
  const { pathname } = useLocation();
  const current = entryOf(pathname)?.section;
  const all = groupsFor(me).flatMap(({ entries }) => entries);
  const shown = wanted.flatMap((section) => all.find((each) => each.section === section) ?? []).slice(0, most);
  return (
    <nav aria-label="Below" className={styles.bottom}>
      <ul>
        {shown.map((entry) => (
          <li key={entry.section}>
            <Link
              {...to(entry.to, { orgId })}
              activeOptions={{ exact: true, includeSearch: false }}
              aria-current={entry.section === current ? "true" : undefined}
            >
              <entry.icon size={19} strokeWidth={1.75} aria-hidden />
              {entry.title}
            </Link>
          </li>
        ))}
        <li>
          <button
            type="button"
            aria-haspopup="dialog"
            aria-current={current && !shown.some(({ section }) => section === current) ? "true" : undefined}
            onClick={onMore}
          >
            <Ellipsis size={19} aria-hidden />
            More
          </button>
        </li>
      </ul>
    </nav>
  );
}
