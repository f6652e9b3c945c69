import { Status } from "../../parts/status.tsx";
import { useNow } from "../../parts/time.tsx";
import { providerHealth } from "../../rules/health.ts";

type ProviderStatusProps = { of: Parameters<typeof providerHealth>[0] };

/** How a provider is, in a word. */
export function ProviderStatus({ of }: ProviderStatusProps) {
  const { word, tone } = providerHealth(of, useNow(60_000));
  return <Status of={word} tone={tone} />;
}
