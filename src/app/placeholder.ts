// Nothing of this layer is written yet, and TypeScript refuses a project without files. Goes with the first real file.
export {};
