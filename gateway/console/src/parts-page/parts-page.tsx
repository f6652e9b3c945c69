import { Laptop, Pause, Plus, SearchX, Trash2 } from "lucide-react";
import { type CSSProperties, useState } from "react";
import { unanswered } from "../api/call.ts";
import { Chart } from "../parts/chart.tsx";
import { Confirm } from "../parts/confirm.tsx";
import { Facts, Section } from "../parts/facts.tsx";
import { Field } from "../parts/field.tsx";
import { LabelList } from "../parts/label-list.tsx";
import { Menu } from "../parts/menu.tsx";
import { PageTitle } from "../parts/page-title.tsx";
import { PlainTable } from "../parts/plain-table.tsx";
import { Popover } from "../parts/popover.tsx";
import { toast } from "../parts/said.ts";
import { EmptyState, FailureState, Loading, NotAllowed, Said, Skeleton } from "../parts/states.tsx";
import { Status } from "../parts/status.tsx";
import { Table } from "../parts/table.tsx";
import { chooseDensity, chooseTheme } from "../parts/theme.ts";
import { Toasts } from "../parts/toasts.tsx";
import { Tooltips } from "../parts/tooltips.tsx";
import type { Tone } from "../rules/tone.ts";
import styles from "./parts-page.module.css";

/** Every part in each of its states, to be looked at in both themes, at both densities and at each width. */
export function PartsPage() {
  return (
    <main className={styles.page} id="main">
      <PageTitle title="Parts" sub="All parts in all states. For development." actions={<Looks />} />
      <Colours />
      <Buttons />
      <States />
      <Fields />
      <Overlays />
      <Data />
      <Tooltips />
      <Toasts />
    </main>
  );
}

const Looks = () => (
  <>
    {(["system", "light", "dark"] as const).map((theme) => (
      <button key={theme} type="button" onClick={() => chooseTheme(theme)}>
        {theme}
      </button>
    ))}
    {(["usual", "compact"] as const).map((density) => (
      <button key={density} type="button" onClick={() => chooseDensity(density)}>
        {density}
      </button>
    ))}
  </>
);

const grounds = ["ground", "surface", "sunken", "hover", "chosen", "track", "accent-soft", "good-soft", "warn-soft"];

const Colours = () => (
  <Section title="Grounds">
    <div className={styles.swatches}>
      {grounds.map((name) => (
        <span key={name} style={{ "--shown": `var(--${name})` } as CSSProperties}>
          {name}
        </span>
      ))}
    </div>
  </Section>
);

const weights = ["primary", undefined, "quiet", "link"] as const;

const Buttons = () => (
  <Section title="Buttons: one primary per page or dialog">
    {[false, true].map((disabled) => (
      <div key={String(disabled)} className={styles.row}>
        {weights.map((weight) => (
          <button key={String(weight)} type="button" data-weight={weight} disabled={disabled}>
            {weight ?? "usual"}
          </button>
        ))}
        <button type="button" data-tone="danger" disabled={disabled}>
          <Trash2 size={15} aria-hidden />
          danger
        </button>
        <button
          type="button"
          data-size="icon"
          aria-label="Pause"
          data-tip="A tooltip: the name of an icon"
          disabled={disabled}
        >
          <Pause size={15} aria-hidden />
        </button>
        <button type="button" aria-disabled data-tip="You need the permission devices:write.">
          refused, with the reason
        </button>
      </div>
    ))}
  </Section>
);

const tones: readonly Tone[] = ["good", "run", "warn", "bad", "off"];

const States = () => (
  <>
    <Section title="Badges">
      <div className={styles.row}>
        {tones.map((tone) => (
          <Status key={tone} of={tone} tone={tone} />
        ))}
        <LabelList of={{ role: "pos", floor: "2" }} />
      </div>
    </Section>
    <Said>Saved.</Said>
    <Said isFailure>Not saved: the name is taken.</Said>
    <FailureState failure={unanswered} onRetry={() => undefined} />
    <NotAllowed why="You need the permission audit:read." />
    <EmptyState title="No device has enrolled yet." icon={Laptop}>
      <p>Make an enrollment key, and start an agent with it.</p>
      <button type="button" data-weight="primary">
        <Plus size={15} aria-hidden />
        Add devices
      </button>
    </EmptyState>
    <EmptyState title="Nothing matches these filters." icon={SearchX} />
    <Loading what="Loading devices" />
    <Skeleton what="Loading devices" />
  </>
);

const Fields = () => (
  <Section title="Fields">
    <Field label="Name" hint="As people call it.">
      <input defaultValue="Osaka" />
    </Field>
    <Field label="Address" errors={["Use https"]}>
      <input defaultValue="http://example.com" />
    </Field>
    <Field label="Plan">
      <select>
        <option>pro</option>
      </select>
    </Field>
    <label>
      <input type="checkbox" defaultChecked /> Single keys are shortcuts
    </label>
  </Section>
);

function Overlays() {
  const [isAsking, ask] = useState(false);
  return (
    <Section title="What opens: a menu for rare things, a popover for choices, a dialog for questions">
      <div className={styles.row}>
        <Menu
          label="More"
          items={[
            { label: "Change …", onChoose: () => ask(true) },
            { label: "Approve", why: "You need the permission devices:write.", onChoose: () => undefined },
            { label: "Decommission …", tone: "danger", onChoose: () => ask(true) },
          ]}
        />
        <Popover label="Time zone" button="Times in UTC">
          <p>What is chosen beside the work.</p>
        </Popover>
        <button type="button" onClick={() => ask(true)}>
          Dialog
        </button>
        <button type="button" onClick={() => toast("The device is trusted.")}>
          Toast
        </button>
        <button type="button" onClick={() => toast("Too many attempts.", "failure")}>
          Toast of a failure
        </button>
      </div>
      {isAsking ? (
        <Confirm
          title="Decommission web-01?"
          verb="Decommission"
          typed="web-01"
          action={async () => toast("The device is decommissioned.")}
          onClose={() => ask(false)}
        >
          <p>Its agent's token is refused at once and permanently.</p>
        </Confirm>
      ) : null}
    </Section>
  );
}

const rows = Array.from({ length: 200 }, (_, at) => ({ id: String(at), name: `osa-pos-${at}`, state: "online" }));
const points = Array.from({ length: 14 }, (_, at) => ({
  at: new Date(Date.UTC(2026, 0, at + 1)).toISOString(),
  values: [80 + ((at * 7) % 30), at % 4],
}));

function Data() {
  const [chosen, change] = useState<ReadonlySet<string>>(new Set(["1", "2"]));
  return (
    <>
      <Section title="Chart">
        <Chart
          label="Sign-ins by day"
          series={[
            { name: "Accepted", tone: "off" },
            { name: "Refused", tone: "bad" },
          ]}
          points={points}
        />
        <Chart label="Online over time" kind="area" series={[{ name: "Online", tone: "good" }]} points={points} />
      </Section>
      <Section title="Facts">
        <Facts
          of={[
            ["Organization", "Globex"],
            ["Site", null],
            ["System", "Linux, amd64"],
          ]}
        />
      </Section>
      <Section title="A short table">
        <PlainTable columns={["Program", "Runs"]}>
          <tr>
            <th scope="row">agent</th>
            <td>2.4.3</td>
          </tr>
        </PlainTable>
      </Section>
      <Table
        label="A long table"
        columns={[
          { id: "name", title: "Name", cell: ({ name }) => <a href="#main">{name}</a> },
          { id: "state", title: "State", as: "state", cell: ({ state }) => <Status of={state} /> },
        ]}
        rows={rows}
        keyOf={({ id }) => id}
        total={rows.length}
        hasMore={false}
        isLoadingMore={false}
        loadMore={() => undefined}
        selection={{ chosen, change }}
      />
    </>
  );
}
