// Adds two images: c = a + b, element by element.
//
// An image has `height` rows of `width` elements. Rows begin `pitch` elements apart; what lies
// between the end of a row and the beginning of the next one is not yours.
__global__ void add(const float *a, const float *b, float *c, int width, int height, int pitch)
{
    // Which element is this thread's? Is there one?
}
