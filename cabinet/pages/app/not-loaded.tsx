import { useCallback, useEffect, useRef, useState } from 'react'
import { callAny } from '../api/call.ts'
import { asProblem } from '../api/problem.ts'
import { useReachability } from '../api/reachability.ts'
import { useWords } from '../i18n/language.ts'
import { Button } from '../kit/button.tsx'
import { kitWords } from '../kit/messages.ts'
import { awayWords } from '../kit/offline-banner.tsx'
import { leaveOnceAllowed } from '../navigation/stay-here.ts'
import type { PagePath } from '../page-routes.ts'
import { shellWords } from './messages.ts'
import { loadPageAgain } from './pages.tsx'

const tryEveryMs = 3_000

/** Replaces a page whose chunk could not be loaded; retries until it is available. */
export function NotLoaded({ path, onLoaded }: { readonly path: PagePath; readonly onLoaded: () => void }) {
  const words = useWords(shellWords)
  const kit = useWords(kitWords)
  const away = awayWords(kit, useReachability())
  const { isTrying, tryAgain } = useTries(path, onLoaded)
  return (
    <div role="alert" className="grid justify-items-start gap-4">
      <h1 className="text-2xl">{away?.title ?? words.pageFailed}</h1>
      <p className="max-w-prose text-muted">{away?.detail ?? words.pageFailedDetail}</p>
      <Button variant="primary" isPending={isTrying} onClick={tryAgain}>
        {kit.retry}
      </Button>
    </div>
  )
}

/** Retries when the browser is online again, every 3 s while the tab is visible, and on request. */
function useTries(path: PagePath, onLoaded: () => void) {
  const [isTrying, setTrying] = useState(false)
  const isAtWork = useRef(false)
  const tell = useRef(onLoaded)
  tell.current = onLoaded

  const tryOnce = useCallback(
    async (isAskedFor: boolean): Promise<void> => {
      if (isAtWork.current) return
      isAtWork.current = true
      setTrying(isAskedFor)
      const isLoaded = await findPageAgain(path, isAskedFor)
      isAtWork.current = false
      setTrying(false)
      if (isLoaded) tell.current()
    },
    [path],
  )

  useEffect(() => {
    const tryByItself = () => void (document.hidden || tryOnce(false))
    tryByItself()
    const timer = setInterval(tryByItself, tryEveryMs)
    addEventListener('online', tryByItself)
    return () => {
      clearInterval(timer)
      removeEventListener('online', tryByItself)
    }
  }, [tryOnce])

  return { isTrying, tryAgain: () => void tryOnce(true) }
}

/**
 * @returns whether the chunk is loaded. If the server responds and the chunk does not load, a new document is needed.
 */
async function findPageAgain(path: PagePath, isAskedFor: boolean): Promise<boolean> {
  if (!(await isServerThere())) return false
  try {
    await loadPageAgain(path)
    return true
  } catch {
    if (isAskedFor || !isBegunAnew()) beginAnew()
    return false
  }
}

async function isServerThere(): Promise<boolean> {
  try {
    await callAny('GET /config', { isFresh: true })
    return true
  } catch (error) {
    return !asProblem(error).isPassing
  }
}

/**
 * After a deploy the chunk has another name, which only a new document knows. Some browsers also remember a failed
 * import for as long as the document exists. The history entry, which survives a reload, records the attempt: once is
 * enough.
 */
function beginAnew(): void {
  history.replaceState({ begunAnew: import.meta.url }, '')
  leaveOnceAllowed(() => location.reload())
}

/** Whether this document was already reloaded for the same reason, with the same files. */
function isBegunAnew(): boolean {
  const state: unknown = history.state
  return (
    typeof state === 'object' && state !== null && 'begunAnew' in state && state.begunAnew === import.meta.url
  )
}
