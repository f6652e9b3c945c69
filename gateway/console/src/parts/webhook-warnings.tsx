import { TriangleAlert } from "lucide-react";
import styles from "./webhook-warnings.module.css";

/** What makes a webhook's deliveries less safe, a sentence each; nothing where there is none. */
export const WebhookWarnings = ({ of: { warnings } }: { of: { warnings: readonly string[] } }) =>
  warnings.map((warning) => (
    <p key={warning} role="note" className={styles.warning}>
      <TriangleAlert size={17} aria-hidden />
      <span>{warning}</span>
    </p>
  ));

/** The warning that the API will have about an address that is being typed; none for https. */
export const addressWarnings = (url: string) =>
  /^http:/i.test(url) ? ["The address is plain http: deliveries can be read and changed on the way."] : [];
