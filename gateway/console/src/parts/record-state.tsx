import type { Failed } from "../api/queries.ts";
import { PageTitle } from "./page-title.tsx";
import { FailureState, Loading } from "./states.tsx";

type Loaded = { error: Failed | null; refetch(): Promise<unknown> };

/** The page of a record that has not come yet, or cannot be had. */
export const RecordState = ({ title, of: { error, refetch } }: { title: string; of: Loaded }) =>
  error ? (
    <>
      <PageTitle title={title} />
      <FailureState failure={error.failure} onRetry={() => void refetch()} />
    </>
  ) : (
    <Loading what={`Loading the ${title.toLowerCase()}`} />
  );
