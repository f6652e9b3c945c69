/**
 * Calls once, at most half a second later, when the process that runs this one as `npm run <script>` has ended: npm
 * passes a `kill` on to its shell, which ends without forwarding it. Never calls in a process that was started
 * otherwise.
 */
export function onLeftByNpm(script: string, left: () => void): void {
  if (process.env.npm_lifecycle_event !== script) return;
  const parent = process.ppid;
  const watch = setInterval(() => {
    if (process.ppid === parent) return;
    clearInterval(watch);
    left();
  }, 500).unref();
}
