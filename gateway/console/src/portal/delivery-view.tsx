import { useState } from "react";
import { api } from "../api/api.ts";
import { dataOf, Failed, useForget, useGet } from "../api/queries.ts";
import { AttemptsTable } from "../parts/delivery-tables.tsx";
import { Facts, Json, Section } from "../parts/facts.tsx";
import { FailureState, Loading } from "../parts/states.tsx";
import { Status } from "../parts/status.tsx";
import { failureSentence } from "../rules/failure-sentence.ts";
import { At, Head, type ViewProps } from "./view-parts.tsx";

type DeliveryViewProps = ViewProps & { id: string; deliveryId: string };

/** One delivery with its attempts, and a way to send it again. */
export function DeliveryView({ may, go, id, deliveryId }: DeliveryViewProps) {
  const path = { id, deliveryId };
  const delivery = useGet("/api/v1/webhooks/{id}/deliveries/{deliveryId}", { params: { path } }, { everyMs: 5_000 });
  const [said, say] = useState("");
  const forget = useForget();
  const { data } = delivery;
  const hasEnded = data?.status === "failed" || data?.status === "delivered";

  async function resend(): Promise<void> {
    try {
      const params = { path };
      const resent = "/api/v1/webhooks/{id}/deliveries/{deliveryId}/resend";
      if (data?.status === "failed") await dataOf(api.POST("/api/v1/webhooks/{id}/retry/{deliveryId}", { params }));
      else await dataOf(api.POST(resent, { params }));
      say("Queued again as a new delivery.");
      await forget("/api/v1/webhooks");
    } catch (error) {
      if (!(error instanceof Failed)) throw error;
      say(`Not done. ${failureSentence(error.failure)}`);
    }
  }

  return (
    <>
      <Head title={data?.event ?? "Delivery"} onBack={() => go({ at: "webhook", id })}>
        {data ? <Status of={data.status} /> : null}
        {hasEnded && may("resend_deliveries") ? (
          <button type="button" data-weight="primary" onClick={() => void resend()}>
            {data?.status === "failed" ? "Retry" : "Resend"}
          </button>
        ) : null}
      </Head>
      <p role="status">{said}</p>
      {delivery.error ? <FailureState failure={delivery.error.failure} /> : null}
      {delivery.isPending ? <Loading /> : null}
      {data ? (
        <>
          <Section title="Delivery">
            <Facts
              of={[
                ["Created", <At key="made" time={data.createdAt} />],
                ["Delivered", <At key="done" time={data.deliveredAt} />],
                ["Answer", data.responseStatus === null ? null : String(data.responseStatus)],
                ["Error", data.errorMessage],
                ["Id", <code key="id">{data.id}</code>],
              ]}
            />
          </Section>
          <Section title="Attempts">
            <AttemptsTable attempts={data.attempts} timeOf={(time) => <At time={time} />} />
          </Section>
          <Section title="What is sent">
            <Json value={data.payload} label="Payload" />
          </Section>
        </>
      ) : null}
    </>
  );
}
