import { MutationCache, QueryCache, QueryClient } from '@tanstack/react-query'
import { goToLogin } from '../app/sign-in-again.ts'
import { asProblem } from './problem.ts'

const staleAfterMs = 2_000
const retryMsMin = 1_000
const retryMsMax = 10_000

/** Everything that the pages have read. What passes by itself is asked again until it has, nothing else is. */
export const queryClient: QueryClient = new QueryClient({
  queryCache: new QueryCache({ onError: leaveIfSignedOut }),
  mutationCache: new MutationCache({ onError: leaveIfSignedOut }),
  defaultOptions: {
    queries: {
      staleTime: staleAfterMs,
      retry: (_count, error) => asProblem(error).isPassing,
      retryDelay: (count) => Math.min(retryMsMin * 2 ** count, retryMsMax),
      networkMode: 'always', // whether there is a network is told by calls, not by the browser's guess
    },
    mutations: { retry: false, networkMode: 'always' },
  },
})

function leaveIfSignedOut(error: unknown): void {
  if (asProblem(error).code === 'unauthenticated') goToLogin()
}
