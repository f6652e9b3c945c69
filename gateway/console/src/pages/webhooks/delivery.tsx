import { Link, useParams } from "@tanstack/react-router";
import { useGet } from "../../api/queries.ts";
import { deliveryOperations } from "../../operations/deliveries.tsx";
import { HeadOperations } from "../../operations/operation-buttons.tsx";
import { AttemptsTable } from "../../parts/delivery-tables.tsx";
import { Facts, Json, Section } from "../../parts/facts.tsx";
import { toRecord } from "../../parts/links.ts";
import { LongCode } from "../../parts/long-text.tsx";
import { NameOf } from "../../parts/name-of.tsx";
import { PageTitle } from "../../parts/page-title.tsx";
import { RecordState } from "../../parts/record-state.tsx";
import { Sides } from "../../parts/sides.tsx";
import { Instant, Time } from "../../parts/time.tsx";
import { AttemptStrip } from "./attempt-strip.tsx";

/** One delivery with each of its attempts. */
export function DeliveryPage() {
  const { id, deliveryId } = useParams({ from: "/webhooks/$id/deliveries/$deliveryId" });
  const path = { id, deliveryId };
  const delivery = useGet("/api/v1/webhooks/{id}/deliveries/{deliveryId}", { params: { path } }, { everyMs: 5_000 });
  if (!delivery.data) return <RecordState title="Delivery" of={delivery} />;
  const { data } = delivery;
  return (
    <>
      <PageTitle
        title={data.event}
        status={data.status}
        sub={<Link {...toRecord("/webhooks/$id", { id })}>All deliveries of this webhook</Link>}
        actions={<HeadOperations of={{ ...data, webhookId: id }} operations={deliveryOperations} name={data.event} />}
      />
      <Sides
        main={
          <>
            <Section title="Attempts">
              <AttemptStrip of={data.attempts} />
              <AttemptsTable attempts={data.attempts} timeOf={(time) => <Instant at={time} />} />
            </Section>
            <Section title="What is sent">
              <Json value={data.payload} label="Payload" />
            </Section>
          </>
        }
        side={
          <Section title="Delivery">
            <Facts
              of={[
                ["Created", <Instant key="made" at={data.createdAt} />],
                ["Delivered", data.deliveredAt ? <Instant key="done" at={data.deliveredAt} /> : null],
                ["Next attempt", data.nextAttemptAt ? <Time key="next" at={data.nextAttemptAt} /> : null],
                ["Answer", data.responseStatus === null ? null : String(data.responseStatus)],
                ["Error", data.errorMessage],
                [
                  "Source",
                  data.source === null ? null : { platform: "Muster", api: "Posted by a caller" }[data.source],
                ],
                ["Posted by", data.postedBy ? <NameOf key="by" id={data.postedBy.id} /> : null],
                ["Id", <LongCode key="id" of={data.id} what="id" />],
              ]}
              isBrief
            />
          </Section>
        }
      />
    </>
  );
}
