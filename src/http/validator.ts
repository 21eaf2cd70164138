// Fastify's use of TypeBox. `npm run bundle` makes a file of it that shares TypeBox with that of `typebox.ts`.
export { TypeBoxValidatorCompiler } from '@fastify/type-provider-typebox';
