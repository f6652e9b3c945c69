// jest's transform while a mutant is planted (`TEST_MUTANT`, JSON of mutants.mjs): the source has the mutant, the file
// has not.
import swc from "@swc/jest";

const mutant = JSON.parse(process.env.TEST_MUTANT);

export default {
  createTransformer(options) {
    const { process: transform, getCacheKey } = swc.createTransformer(options);
    const mutated = (source, path) =>
      path === mutant.file ? source.slice(0, mutant.start) + mutant.text + source.slice(mutant.end) : source;
    return {
      process: (source, path, request) => transform(mutated(source, path), path, request),
      getCacheKey: (source, path, request) => getCacheKey(mutated(source, path), path, request),
    };
  },
};
