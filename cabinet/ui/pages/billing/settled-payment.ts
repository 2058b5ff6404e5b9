import { useEffect, useState } from 'react'
import { call } from '../../api/call.ts'
import { asProblem } from '../../api/problem.ts'
import { readAgain, useRead } from '../../api/queries.ts'
import { queryClient } from '../../api/query-client.ts'
import type { Payment } from './payment-words.ts'
import { findPauseMs } from './refresh-plan.ts'

/** Whether the page still asks, or has asked for so long that people may go. */
export type Asking = 'asking' | 'asked' | 'slow'

const isOpen = ({ status }: Payment) => status === 'pending' || status === 'waiting_for_capture'

/**
 * A payment, about which the provider is asked until it has ended or a minute is over: no notification is needed. Live
 * hints change it afterwards too.
 */
export function useSettledPayment(paymentId: string) {
  const params = { payment_id: paymentId }
  const payment = useRead('/payments/:payment_id', { params })
  const [asking, setAsking] = useState<Asking>('asking')
  const isEnded = payment.data !== undefined && !isOpen(payment.data)

  useEffect(() => {
    if (isEnded) {
      void readAgain('/balance', '/ledger', '/bonuses', '/payments')
      return
    }
    const leaving = new AbortController()
    void askUntilEnded(paymentId, leaving.signal, setAsking)
    return () => leaving.abort()
  }, [paymentId, isEnded])

  return { payment, asking }
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
    if (answer === 'gone') return
    retryAfterS = answer.retryAfterS
    tell(asked === 0 ? 'asking' : 'asked')
  }
}

/** One question; `gone`: another would be answered no better. */
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
    const { status, isPassing, retryAfterS } = asProblem(error)
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
