import { installLines } from "../rules/install-line.ts";
import { CopyButton } from "./list-head.tsx";
import styles from "./secret-once.module.css";

/** The lines to paste, by system, and the key that the installer asks for; null before there is one. */
export const InstallLines = ({ secret }: { secret: string | null }) => (
  <>
    <dl className={styles.lines}>
      {installLines(location.origin).map(([system, line]) => (
        <div key={system}>
          <dt>{system}</dt>
          <dd>
            <CodeLine of={line} what={`line for ${system}`} />
          </dd>
        </div>
      ))}
      {secret === null ? null : (
        <div>
          <dt>Enrollment key</dt>
          <dd>
            <CodeLine of={secret} what="key" isKey />
          </dd>
        </div>
      )}
    </dl>
    <p className="soft">
      {secret === null
        ? "It asks for the enrollment key, which stands here as soon as you have created it."
        : "The line asks for the key, which is shown only this once."}
    </p>
  </>
);

type CodeLineProps = { of: string; what: string; isKey?: true };

/** A line for a terminal, and beside it what copies it. */
export const CodeLine = ({ of, what, isKey }: CodeLineProps) => (
  <div className={styles.code} data-is-key={isKey}>
    <code>{of}</code>
    <CopyButton what={what} text={() => of} isSmall />
  </div>
);
