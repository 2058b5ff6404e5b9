import { Agent, setGlobalDispatcher } from 'undici'
import { ingress } from './settings.ts'

/** The release's hosts lead to the ingress controller, as DNS would have it; this machine's own addresses to themselves. */
setGlobalDispatcher(
  new Agent({
    connect: {
      lookup: (_host, { all }, done) =>
        all === true
          ? done(null, [{ address: ingress.hostname, family: 4 }])
          : done(null, ingress.hostname, 4),
    },
  }),
)
