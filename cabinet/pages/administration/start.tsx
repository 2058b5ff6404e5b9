import { QueryClientProvider } from '@tanstack/react-query'
import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import { queryClient } from '../api/query-client.ts'
import { listenBeforeRouter } from '../navigation/stay-here.ts'
import { AdministrationApp } from './administration-app.tsx'
import './look.css'

listenBeforeRouter()
const root = document.getElementById('root')
if (root !== null)
  createRoot(root).render(
    <StrictMode>
      <QueryClientProvider client={queryClient}>
        <AdministrationApp />
      </QueryClientProvider>
    </StrictMode>,
  )
