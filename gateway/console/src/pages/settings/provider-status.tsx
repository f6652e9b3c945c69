import { Status } from "../../parts/status.tsx";
import { providerHealth } from "../../rules/health.ts";

type ProviderStatusProps = { of: { status: string; samlMetadataError: string | null } };

/** How a provider is: an active one whose metadata cannot be read fails. */
export function ProviderStatus({ of }: ProviderStatusProps) {
  const { word, tone } = providerHealth(of);
  return <Status of={word} tone={tone} />;
}
