const objects = Array.from({ length: 20_000 }, (_, n) => ({ id: n, name: `an object ${n}`, values: [n, n + 1] }));
const text = JSON.stringify(objects);
const turns = 3;

/**
 * Processor time of this process for `work`, in units of reading a mebibyte of JSON (about 10 ms). Both are measured by
 * turns and the least counts, so that the speed of the machine and what else it does change neither.
 */
export function processorUnits(work: () => void): number {
  let [least, unit] = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY];
  for (let turn = 0; turn < turns; turn++) {
    unit = Math.min(
      unit,
      processorMs(() => JSON.parse(text)),
    );
    least = Math.min(least, processorMs(work));
  }
  return least / unit;
}

function processorMs(work: () => void): number {
  const began = process.cpuUsage();
  work();
  const { user, system } = process.cpuUsage(began);
  return (user + system) / 1_000;
}
