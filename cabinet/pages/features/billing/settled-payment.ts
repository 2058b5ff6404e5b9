import { useEffect, useState } from 'react'
import { call } from '../../api/call.ts'
import { asProblem } from '../../api/problem.ts'
import { readAgain, useRead } from '../../api/queries.ts'
import { queryClient } from '../../api/query-client.ts'
import { goToLogin } from '../../navigation/sign-in-again.ts'
import type { Payment } from './payment-words.ts'
import { findPauseMs } from './refresh-plan.ts'

/** Whether the page is still checking, has checked so long that the user may leave, or got no useful response. */
export type Asking = 'asking' | 'asked' | 'slow' | 'failed'

const isOpen = ({ status }: Payment) => status === 'pending' || status === 'waiting_for_capture'

/**
 * A payment, checked with the provider until it has ended or a minute is over; no notification is needed. Live hints
 * update it afterwards too.
 */
export function useSettledPayment(paymentId: string) {
  const params = { payment_id: paymentId }
  const payment = useRead('/payments/:payment_id', { params })
  const [asking, setAsking] = useState<Asking>('asking')
  const [round, setRound] = useState(0)
  const isEnded = payment.data !== undefined && !isOpen(payment.data)

  // biome-ignore lint/correctness/useExhaustiveDependencies: another round checks again
  useEffect(() => {
    if (isEnded) {
      void readAgain('/balance', '/ledger', '/bonuses', '/payments')
      return
    }
    const leaving = new AbortController()
    void askUntilEnded(paymentId, leaving.signal, setAsking)
    return () => leaving.abort()
  }, [paymentId, isEnded, round])

  function askAgain(): void {
    setAsking('asking')
    setRound(round + 1)
  }

  return { payment, asking, askAgain }
}

async function askUntilEnded(
  paymentId: string,
  signal: AbortSignal,
  tell: (asking: Asking) => void,
): Promise<void> {
  const startedMs = performance.now()
  let retryAfterS: number | undefined
  for (let asked = 0; !signal.aborted; asked++) {
    const pauseMs = findPauseMs(asked, performance.now() - startedMs, retryAfterS)
    if (pauseMs === undefined) return tell('slow')
    await pause(pauseMs, signal)
    if (signal.aborted) return
    const answer = await ask(paymentId, signal)
    if (signal.aborted) return
    if (answer === 'gone') return tell('failed')
    retryAfterS = answer.retryAfterS
    tell(asked === 0 ? 'asking' : 'asked')
  }
}

/** One check; `gone`: further checks would return the same. */
async function ask(
  payment_id: string,
  signal: AbortSignal,
): Promise<{ readonly retryAfterS: number | undefined } | 'gone'> {
  const params = { payment_id }
  try {
    const payment = await call('POST /payments/:payment_id/refresh', { params, signal })
    queryClient.setQueryData(['/payments/:payment_id', { params }], payment)
    return { retryAfterS: undefined }
  } catch (error) {
    const { code, status, isPassing, retryAfterS } = asProblem(error)
    if (code === 'unauthenticated') goToLogin()
    return isPassing || status === 429 ? { retryAfterS } : 'gone'
  }
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms)
    signal.addEventListener('abort', () => {
      clearTimeout(timer)
      resolve()
    })
  })
}
