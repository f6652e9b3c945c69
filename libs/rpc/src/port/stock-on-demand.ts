import type { Logger } from "@muster/kit";
import type { PortLimits } from "../protocol/limits.ts";
import type { Routes } from "./registration.ts";
import type { StockPath } from "./stock-path.ts";

/**
 * The stock path, loaded with its first request: connect-node and three handlers for each RPC are megabytes of a
 * process, and most services are called by the short path alone.
 */
export function stockOnDemand(routes: Routes, limits: PortLimits, log: Logger): StockPath {
  let loaded: StockPath | undefined;
  let loading: Promise<StockPath> | undefined;
  const load = async () => {
    const { createStockPath } = await import("./stock-path.ts");
    loaded ??= createStockPath(routes, limits, log);
    return loaded;
  };
  return (request, response) => {
    if (loaded) return loaded(request, response);
    loading ??= load();
    loading.then(
      (serve) => {
        if (!("stream" in response ? response.stream : response).destroyed) serve(request, response);
      },
      (err: unknown) => {
        loading = undefined;
        log.error({ err }, "rpc protocols could not be loaded");
        response.destroy();
      },
    );
  };
}
