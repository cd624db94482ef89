/** Lets Node run the sources in a thread: their imports name what is built from them. */
import { registerHooks } from 'node:module';

registerHooks({
  resolve: (specifier, context, nextResolve) =>
    nextResolve(
      specifier.startsWith('.') && !context.parentURL?.includes('/node_modules/')
        ? specifier.replace(/\.js$/, '.ts')
        : specifier,
      context,
    ),
});
