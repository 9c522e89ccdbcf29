// Texture and surface objects, managed memory.
__managed__ int counter = 3;
__global__ void texture(cudaTextureObject_t tex, cudaSurfaceObject_t surf, float *out) {
  float4 t = tex2D<float4>(tex, threadIdx.x + 0.5f, 1.5f);
  float2 s = tex3DLod<float2>(tex, 0.1f, 0.2f, 0.3f, 1.0f);
  int u = surf2Dread<int>(surf, threadIdx.x * 4, 2);
  surf2Dwrite<int>(u + 1, surf, threadIdx.x * 4, 3);
  out[threadIdx.x] = t.x + t.w + s.y + atomicAdd(&counter, u);
}
