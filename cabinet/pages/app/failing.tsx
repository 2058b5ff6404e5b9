import { Component, type ReactNode } from 'react'
import type { PagePath } from '../page-routes.ts'
import { NotLoaded } from './not-loaded.tsx'
import { PageFailed } from './page-failed.tsx'
import { PageNotLoaded } from './pages.tsx'

type FailingProps = { readonly path: PagePath | undefined; readonly children: ReactNode }

/** Contains the failure of a page that could not be rendered, or whose chunk could not be loaded. */
export class Failing extends Component<FailingProps, { readonly error: unknown }> {
  override state = { error: undefined }

  static getDerivedStateFromError(error: unknown): { readonly error: unknown } {
    return { error }
  }

  override render(): ReactNode {
    const { error } = this.state
    const { path, children } = this.props
    if (error === undefined) return children
    if (path === undefined || !isNotLoaded(error)) return <PageFailed />
    return <NotLoaded path={path} onLoaded={() => this.setState({ error: undefined })} />
  }
}

const isNotLoaded = (error: unknown) => error instanceof PageNotLoaded
