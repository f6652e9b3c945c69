import { type ChangeEvent, type CSSProperties, type FormEvent, useState } from "react";
import { api } from "../../api/api.ts";
import { dataOf, useForget, useGet } from "../../api/queries.ts";
import { Section } from "../../parts/facts.tsx";
import forms from "../../parts/field.module.css";
import { Field } from "../../parts/field.tsx";
import { useWhyNot } from "../../parts/me.tsx";
import { FailureState, Loading, Said } from "../../parts/states.tsx";
import { useWrite } from "../../parts/use-write.ts";
import { textOn } from "../../rules/accent.ts";
import styles from "./branding.module.css";
import { SettingsPage } from "./settings-page.tsx";

const path = "/api/v1/partners/me/login-branding";
/** As large as the API takes it. */
const logoMaxBytes = 256 * 1024;

type Look = { logo_url: string | null; accent_color: string | null; headline: string | null };

/** How the sign-in page looks for the people of one's own partner and its organizations. */
export function Branding() {
  return (
    <SettingsPage title="Branding" needs={`GET ${path}`}>
      <Loaded />
    </SettingsPage>
  );
}

function Loaded() {
  const branding = useGet(path);
  if (branding.error) return <FailureState failure={branding.error.failure} onRetry={() => void branding.refetch()} />;
  return branding.data ? <Form kept={branding.data} /> : <Loading what="Loading the branding" />;
}

function Form({ kept }: { kept: Look }) {
  const why = useWhyNot(`PUT ${path}`);
  const write = useWrite();
  const forget = useForget();
  const [look, setLook] = useState(kept);
  const [said, say] = useState<string | null>(null);
  const change = (more: Partial<Look>) => setLook({ ...look, ...more });

  function choose(event: ChangeEvent<HTMLInputElement>) {
    const file = event.target.files?.[0];
    say(null);
    if (!file) return;
    if (file.size > logoMaxBytes) return say("The image is larger than 256 KiB: choose a smaller one.");
    const reader = new FileReader();
    reader.onload = () => change({ logo_url: String(reader.result) });
    reader.readAsDataURL(file);
  }

  async function send(event: FormEvent<HTMLFormElement>) {
    event.preventDefault();
    say(null);
    const saved = await write.run(() => dataOf(api.PUT(path, { body: look })));
    if (saved === null) return;
    say("Saved: the next sign-in page shows it.");
    await forget(path);
  }

  const isChanged = (Object.keys(look) as (keyof Look)[]).some((name) => (look[name] || null) !== (kept[name] || null));
  const accent = look.accent_color ?? "";
  return (
    <div className={styles.sides}>
      <form className={forms.form} onSubmit={send}>
        <Said>{said}</Said>
        {write.failure && !write.isAtFields ? <FailureState failure={write.failure} /> : null}
        <fieldset className={forms.plain} disabled={why !== null}>
          <Field label="Headline" errors={write.errorsOf("headline")}>
            <input
              maxLength={120}
              value={look.headline ?? ""}
              onChange={(event) => change({ headline: event.target.value || null })}
            />
          </Field>
          <Field label="Colour of the buttons" errors={write.errorsOf("accent_color")}>
            <input
              type="color"
              className={forms.color}
              value={accent || "#1d4fd7"}
              onChange={(event) => change({ accent_color: event.target.value })}
            />
          </Field>
          <Field label="Logo" hint="PNG, JPEG or WebP, at most 256 KiB." errors={write.errorsOf("logo_url")}>
            <input type="file" accept="image/png,image/jpeg,image/webp" onChange={choose} />
          </Field>
        </fieldset>
        {why ? <p className="soft">{why}</p> : null}
        <div className={styles.actions}>
          <button
            type="button"
            disabled={why !== null}
            onClick={() => setLook({ logo_url: null, accent_color: null, headline: null })}
          >
            Clear
          </button>
          <button
            type="submit"
            data-weight={isChanged ? "primary" : undefined}
            disabled={write.isRunning || why !== null}
          >
            {write.isRunning ? "Saving …" : "Save"}
          </button>
        </div>
      </form>
      <Preview look={look} accent={accent} />
    </div>
  );
}

function Preview({ look, accent }: { look: Look; accent: string }) {
  return (
    <Section title="Preview">
      <div className={styles.preview}>
        {look.logo_url?.startsWith("data:") ? (
          <img src={look.logo_url} alt="The logo" className={styles.logo} />
        ) : look.logo_url ? (
          <p className="soft">The logo of {look.logo_url}</p>
        ) : null}
        <strong>{look.headline ?? "Sign in"}</strong>
        <span
          className={styles.button}
          style={
            {
              "--shown": accent || "var(--accent)",
              "--shown-text": accent ? textOn(accent) : "var(--on-accent)",
            } as CSSProperties
          }
        >
          Sign in
        </span>
      </div>
    </Section>
  );
}
