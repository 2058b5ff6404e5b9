import { MutationCache, QueryCache, QueryClient } from '@tanstack/react-query'
import { goToLogin } from '../navigation/sign-in-again.ts'
import { asProblem } from './problem.ts'

const staleAfterMs = 2_000
const retryMsMin = 1_000
const retryMsMax = 10_000

/** Everything that the pages have read. Only temporary failures are retried, until they succeed. */
export const queryClient: QueryClient = new QueryClient({
  queryCache: new QueryCache({ onError: leaveIfSignedOut }),
  mutationCache: new MutationCache({ onError: leaveIfSignedOut }),
  defaultOptions: {
    queries: {
      staleTime: staleAfterMs,
      retry: (_count, error) => asProblem(error).isPassing,
      retryDelay: (count) => Math.min(retryMsMin * 2 ** count, retryMsMax),
      networkMode: 'always', // calls show whether there is a network; the browser only guesses
    },
    mutations: { retry: false, networkMode: 'always' },
  },
})

function leaveIfSignedOut(error: unknown): void {
  if (asProblem(error).code === 'unauthenticated') goToLogin()
}
